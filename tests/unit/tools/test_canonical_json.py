"""Canonical JSON: RFC 8785's vectors, exact integers, and what is refused where."""

from __future__ import annotations

import json
import random
import struct
from collections import OrderedDict
from collections.abc import Iterator
from enum import IntEnum
from math import isfinite
from typing import Any, NamedTuple

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from beam_agents.tools.canonical_json import (
    MAX_DEPTH,
    CanonicalJsonError,
    JsonValue,
    canonical_json,
    parse_json,
)

TEXT = st.text(st.characters(codec="utf-8"))
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
EXACT = st.none() | st.booleans() | st.integers() | TEXT


def trees(leaves: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    return st.recursive(
        leaves,
        lambda children: st.lists(children) | st.dictionaries(TEXT, children),
        max_leaves=20,
    )


JSON_VALUES = trees(EXACT | DOUBLES)

# --- RFC 8785 --------------------------------------------------------------------------------

# Appendix B.
APPENDIX_B = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


def double(bits: str) -> float:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert isinstance(value, float)
    return value


@pytest.mark.parametrize(("bits", "text"), APPENDIX_B)
def test_a_double_is_written_as_the_rfc_writes_it(bits: str, text: str) -> None:
    assert canonical_json(double(bits)).decode() == text


@pytest.mark.parametrize("bits", ["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"])
def test_a_double_that_is_no_number_is_refused(bits: str) -> None:
    with pytest.raises(CanonicalJsonError, match="no JSON form"):
        canonical_json(double(bits))


def test_the_sample_of_section_3_2_2() -> None:
    sample = r"""{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"""

    assert canonical_json(parse_json(sample)) == (
        b'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        b'"string":"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_sort_by_utf16_code_units_as_in_section_3_2_3() -> None:
    sample = r"""{
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    }"""

    keys = list(json.loads(canonical_json(parse_json(sample))))

    assert keys == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ([56, {"d": True, "10": None, "1": []}], b'[56,{"1":[],"10":null,"d":true}]'),
        (
            {"peach": 1, "p\u00e9ch\u00e9": 2, "p\u00eache": 3, "sin": 4},
            '{"peach":1,"p\u00e9ch\u00e9":2,"p\u00eache":3,"sin":4}'.encode(),
        ),
        ({"Unnormalized Unicode": "A\u030a"}, '{"Unnormalized Unicode":"A\u030a"}'.encode()),
        ({"": "empty", "</script>": "\x7f"}, b'{"":"empty","</script>":"\x7f"}'),
    ],
)
def test_the_published_samples(value: object, encoded: bytes) -> None:
    assert canonical_json(value) == encoded


def generated_doubles() -> Iterator[float]:
    """Generate doubles of all exponents, and as many where layouts change."""
    generator = random.Random(8785)  # noqa: S311
    for _ in range(10_000):
        value = double(generator.randbytes(8).hex())
        if isfinite(value):
            yield value
        yield generator.uniform(-1, 1) * 10.0 ** generator.randint(-8, 23)


def test_doubles_are_written_as_another_implementation_writes_them() -> None:
    values = list(generated_doubles())

    assert len(values) > 10_000
    assert [canonical_json(value) for value in values] == [rfc8785.dumps(value) for value in values]


@given(trees(st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT | DOUBLES))
def test_trees_are_written_as_another_implementation_writes_them(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


# --- beyond the RFC --------------------------------------------------------------------------


@pytest.mark.parametrize("value", [2**53 + 1, -(2**63), 10**30 + 7, 10**4000])
def test_an_integer_is_written_exactly(value: int) -> None:
    assert canonical_json([value]) == f"[{value}]".encode()
    assert parse_json(str(value)) == value


def test_subclasses_are_written_as_what_they_are() -> None:
    class Level(IntEnum):
        HIGH = 3

    class Point(NamedTuple):
        x: int
        y: int

    class Name(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "something else"

    value = OrderedDict(b=Level.HIGH, a=Point(1, 2), c=Name("n"))

    assert canonical_json(value) == b'{"a":[1,2],"b":3,"c":"n"}'


@given(JSON_VALUES)
def test_encoding_is_a_fixed_point(value: JsonValue) -> None:
    encoded = canonical_json(value)

    assert canonical_json(parse_json(encoded)) == encoded


@given(trees(EXACT))
def test_what_is_written_reads_as_the_same_value(value: JsonValue) -> None:
    assert json.loads(canonical_json(value)) == value


@given(DOUBLES)
def test_a_double_reads_as_the_same_double(value: float) -> None:
    assert float(canonical_json(value)) == value


@given(JSON_VALUES)
def test_spelling_and_order_of_the_text_do_not_matter(value: JsonValue) -> None:
    spelled = json.dumps(value, indent=2, ensure_ascii=True)

    assert canonical_json(parse_json(spelled)) == canonical_json(value)


@given(st.dictionaries(TEXT, st.none()))
def test_keys_always_sort_by_utf16_code_units(value: dict[str, None]) -> None:
    keys = list(json.loads(canonical_json(value)))

    assert keys == sorted(value, key=lambda key: key.encode("utf-16-be"))


# --- refusals --------------------------------------------------------------------------------


def cycle() -> list[object]:
    items: list[object] = []
    items.append({"again": items})
    return items


def nested(levels: int, leaf: object = 1) -> object:
    value = leaf
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "path", "problem"),
    [
        (float("nan"), "$", "no JSON form"),
        ({"a": [1, float("-inf")]}, "$.a[1]", "no JSON form"),
        ({"a": "\ud800"}, "$.a", "lone surrogate"),
        ({"a": {"\udfff": 1}}, r"$.a['\udfff']", "lone surrogate"),
        ({"unit price": {1: 2}}, "$['unit price']", "key of type int"),
        ([{None: 1}], "$[0]", "key of type NoneType"),
        ([{"a": 1, True: 2}], "$[0]", "key of type bool"),
        (cycle(), "$[0].again", "contains itself"),
        ({"a": b"bytes"}, "$.a", "bytes has no JSON form"),
        ({"a": {1, 2}}, "$.a", "set has no JSON form"),
        ([10**5000], "$[0]", "too many digits"),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_path(
    value: object, path: str, problem: str
) -> None:
    with pytest.raises(CanonicalJsonError, match=problem) as refused:
        canonical_json(value)

    assert refused.value.path == path


@pytest.mark.parametrize("leaf", [1, 1.5])
def test_the_deepest_value_that_can_be_written_can_be_read(leaf: object) -> None:
    encoded = canonical_json(nested(MAX_DEPTH, leaf))

    assert canonical_json(parse_json(encoded)) == encoded


@pytest.mark.parametrize("leaf", [1, 1.5, []])
def test_a_deeper_value_is_refused(leaf: object) -> None:
    with pytest.raises(CanonicalJsonError, match="nested deeper than 200 levels"):
        canonical_json(nested(MAX_DEPTH + 1, leaf))


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_a_deeper_text_is_refused(levels: int, opening: str, closing: str) -> None:
    with pytest.raises(CanonicalJsonError, match="nested deeper than 200 levels"):
        parse_json(opening * levels + "1" + closing * levels)


def test_many_values_side_by_side_are_not_deep() -> None:
    wide = [[index] for index in range(1000)]

    assert parse_json(canonical_json(wide)) == wide


@pytest.mark.parametrize(
    ("text", "path", "problem"),
    [
        ('{"a":1,"a":1}', "$", "the key 'a' more than once"),
        (r'[{"b":{"x":1,"y":2,"\u0078":3}}]', "$[0].b", "the key 'x' more than once"),
        ('{"a":[NaN]}', "$.a[0]", "NaN is not JSON"),
        ('{"a":Infinity}', "$.a", "Infinity is not JSON"),
        ("[0,-Infinity]", "$[1]", "-Infinity is not JSON"),
        ('{"a":1e400}', "$.a", "beyond the range of a double"),
        (r'{"a":"\ud800"}', "$.a", "lone surrogate"),
        (r'{"\uDFFF":1}', r"$['\udfff']", "lone surrogate"),
        (b'["\xed\xa0\x80"]', "$", "not UTF-8 at byte 2"),
        ('["\ud800"]', "$[0]", "lone surrogate"),
        ("[" + "1" * 5000 + "]", "$[0]", "too many digits"),
        ("", "$", "not JSON"),
        ("{'a':1}", "$", "not JSON"),
        ("[1,]", "$", "not JSON"),
        ("01", "$", "not JSON"),
        ("1 2", "$", "not JSON"),
        ('"\t"', "$", "not JSON"),
        ("\ufeff1", "$", "not JSON"),
        ("1\u00a0", "$", "not JSON"),
        ("1".encode("utf-16"), "$", "not UTF-8"),
        ("1".encode("utf-32-be"), "$", "not JSON"),
    ],
)
def test_a_text_is_refused_with_its_path(text: str | bytes, path: str, problem: str) -> None:
    with pytest.raises(CanonicalJsonError, match=problem) as refused:
        parse_json(text)

    assert refused.value.path == path


# Colons wherever they can stand, for a reader that counts them.
PAIRS = st.lists(st.tuples(st.sampled_from(["a", "b", 'b":', "c :"]), TEXT | st.just('":')))
SPACES = st.sampled_from(["", " ", "\t", "\n", "\r", " \n "])


@given(PAIRS, SPACES, SPACES)
def test_a_key_that_comes_twice_is_always_found(
    pairs: list[tuple[str, str]], before: str, after: str
) -> None:
    members = [f"{json.dumps(k)}{before}:{after}{json.dumps(v)}" for k, v in pairs]
    text = "{" + ",".join(members) + "}"

    if len(dict(pairs)) == len(pairs):
        assert parse_json(text) == dict(pairs)
    else:
        with pytest.raises(CanonicalJsonError, match="more than once"):
            parse_json(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_read_as_python_reads_it(value: float) -> None:
    assert parse_json(f"[{value!r}]") == [value]


def test_a_pair_of_escaped_surrogates_is_one_character() -> None:
    assert parse_json(r'"\ud83d\ude00"') == "\U0001f600"


def test_white_space_around_a_text_is_read_over() -> None:
    assert parse_json(b' \t\r\n{ "a" : [ ] } ') == {"a": []}


@given(st.binary() | st.text())
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    try:
        value = parse_json(text)
    except CanonicalJsonError:
        return
    assert canonical_json(parse_json(canonical_json(value))) == canonical_json(value)
