from __future__ import annotations

import pytest
from google.pubsub_v1.types import PubsubMessage
from hypothesis import given, settings
from hypothesis import strategies as st

from beam_agents.effector.backends.pubsub_messages import from_message, to_message
from beam_agents.effector.ports import Headers

_parts = st.none() | st.binary(max_size=20)
_contents = st.binary(max_size=3_000) | st.text(max_size=20).map(str.encode)
_headers = st.lists(st.tuples(st.sampled_from(["a", "goog-x", "", "beam-agents-empty"]), _contents))


def _read(message: PubsubMessage) -> tuple[bytes | None, bytes | None, Headers]:
    return from_message(message.ordering_key, message.data, message.attributes)


@settings(max_examples=60)
@given(key=_parts, value=_parts, headers=_headers)
def test_a_record_reads_as_it_was_written(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes]]
) -> None:
    message = to_message(key, value, tuple(headers))

    read_key, read_value, read_headers = _read(message)

    assert (read_key, read_value) == (key, value)
    # Attributes have no order; headers of one name keep theirs.
    assert sorted(read_headers, key=lambda header: header[0]) == sorted(
        headers, key=lambda header: header[0]
    )


@settings(max_examples=60)
@given(key=_parts, value=_parts, headers=_headers)
def test_a_message_is_one_that_pubsub_takes(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes]]
) -> None:
    message = to_message(key, value, tuple(headers))

    assert message.data or message.attributes
    for name, content in message.attributes.items():
        assert 0 < len(name.encode()) <= 256
        assert not name.startswith("goog")
        assert len(content.encode()) <= 1_024


def test_what_others_look_at_is_plain() -> None:
    message = to_message(b"acct-1", b"value", (("beam-agents-type", b"ToolResult"),))

    assert message.ordering_key == b"acct-1".hex()
    assert message.data == b"value"
    assert dict(message.attributes) == {"beam-agents-type": "ToolResult"}


@pytest.mark.parametrize(
    "text", ["", "[" * 5_000, "[1]", "{}", '[["a"]]', '[["a", "x"]]', '[[1, "eA=="]]']
)
def test_headers_that_are_not_as_we_write_them_are_none(text: str) -> None:
    assert from_message("", b"v", {"beam-agents-headers-0": text}) == (None, b"v", ())
