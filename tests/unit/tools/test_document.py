from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from beam_agents.tools.canonical_json import CanonicalJsonError, canonical_json, parse_json
from beam_agents.tools.document import Document

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=10,
)


def assert_reads_canonically(text: str) -> None:
    document = Document.read(text)
    assert document.value == parse_json(text)
    assert document.canonical == canonical_json(parse_json(text))


@given(values)
@example({"a": '\x00\x1f\x7f"\\/\b\f\n\r\t', "b": 2**70})
def test_a_canonical_text_is_what_it_is_digested_as(value: object) -> None:
    text = canonical_json(value).decode()
    assert Document.read(text).canonical.decode() == text
    assert_reads_canonically(text)


@given(values, st.booleans(), st.booleans(), st.sampled_from([None, 1]))
@example({"b": 1, "a": [{"d": 1, "c": 2}]}, True, False, None)
@example([1e20, 5.0, 1e-7, -0.0], True, False, None)
def test_however_a_text_is_spelled_it_is_digested_in_its_canonical_form(
    value: object, in_ascii: bool, sort_keys: bool, indent: int | None
) -> None:
    separators = (",", ":") if indent is None else None
    assert_reads_canonically(
        json.dumps(
            value,
            ensure_ascii=in_ascii,
            sort_keys=sort_keys,
            indent=indent,
            separators=separators,
        )
    )


@pytest.mark.parametrize("text", ['{"a":1,"a":1}', "NaN", "1e999", '"\\ud800"', "9" * 5_000])
def test_a_text_without_a_canonical_form_is_refused(text: str) -> None:
    with pytest.raises(CanonicalJsonError):
        Document.read(text)


def test_every_character_is_written_alike() -> None:
    for code in range(0x80):
        assert_reads_canonically(canonical_json({chr(code): chr(code)}).decode())
