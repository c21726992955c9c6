"""How a record is a Pub/Sub message, which has attributes of text and no empty parts.

The ordering key is the record's key in hex. A header is an attribute of its name,
so that others can read it; what an attribute cannot hold (bytes that are no text, a
name that comes twice) is in attributes of ours, and so is what Pub/Sub cannot tell
apart: a key or a value that is empty, and one that is not there.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import Base64Bytes, TypeAdapter, ValidationError

Headers: TypeAlias = tuple[tuple[str, bytes], ...]

# https://cloud.google.com/pubsub/quotas#resource_limits
MAX_MESSAGE_BYTES = 10_000_000
MAX_ORDERING_KEY_BYTES = 1_024
_MAX_NAME_BYTES = 256
_MAX_VALUE_BYTES = 1_024

_EMPTY = "beam-agents-empty"  # which of key and value are empty, though there
_HEADERS = "beam-agents-headers-"  # and a number: a piece of the headers that are no attributes
_OTHERS = TypeAdapter(list[tuple[str, Base64Bytes]])


@dataclass(frozen=True)
class MessageParts:
    """What a message is made of."""

    ordering_key: str
    data: bytes
    attributes: Mapping[str, str]


def to_parts(key: bytes | None, value: bytes | None, headers: Headers) -> MessageParts:
    """Write a record as a message."""
    names = Counter(name for name, _ in headers)
    attributes: dict[str, str] = {}
    others: list[tuple[str, str]] = []
    for name, content in headers:
        if names[name] == 1 and _can_be_an_attribute(name, content):
            attributes[name] = content.decode()
        else:
            others.append((name, base64.b64encode(content).decode()))
    if others:
        attributes.update(_pieces(json.dumps(others)))
    empty = [part for part, content in (("key", key), ("value", value)) if content == b""]
    if empty or not (value or attributes):  # a message must hold something
        attributes[_EMPTY] = ",".join(empty)
    ordering_key = key.hex() if key else ""
    return MessageParts(ordering_key, value or b"", attributes)


def from_message(
    ordering_key: str, data: bytes, attributes: Mapping[str, str]
) -> tuple[bytes | None, bytes | None, Headers]:
    """Read key, value and headers of a message, whoever wrote it."""
    empty = attributes.get(_EMPTY, "").split(",")
    key = _key_of(ordering_key) or (b"" if "key" in empty else None)
    value = data or (b"" if "value" in empty else None)
    if not attributes:
        return key, value, ()
    plain = sorted(
        (name, text.encode())
        for name, text in attributes.items()
        if name != _EMPTY and not name.startswith(_HEADERS)
    )
    return key, value, (*plain, *_others_of(attributes))


def _key_of(ordering_key: str) -> bytes:
    try:
        return bytes.fromhex(ordering_key)
    except ValueError:  # a stranger's: a key all the same, if not an entity's
        return ordering_key.encode()


def _can_be_an_attribute(name: str, content: bytes) -> bool:
    ours = name == _EMPTY or name.startswith((_HEADERS, "goog"))  # or Google's
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    short = len(name.encode()) <= _MAX_NAME_BYTES and len(content) <= _MAX_VALUE_BYTES
    return bool(name) and short and not ours


def _pieces(text: str) -> dict[str, str]:
    starts = range(0, len(text), _MAX_VALUE_BYTES)
    return {
        f"{_HEADERS}{number}": text[start : start + _MAX_VALUE_BYTES]
        for number, start in enumerate(starts)
    }


def _others_of(attributes: Mapping[str, str]) -> Headers:
    pieces: list[str] = []
    while (piece := attributes.get(f"{_HEADERS}{len(pieces)}")) is not None:
        pieces.append(piece)
    if not pieces:
        return ()
    try:
        return tuple(_OTHERS.validate_json("".join(pieces)))
    except ValidationError:  # not as we write them: as good as none
        return ()
