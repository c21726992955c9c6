"""A record, as it is published and as it is read back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeAlias

Headers: TypeAlias = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record to be published.

    Attributes:
        key: What orders records: those of one key are handled one after the other.
        value: The payload; None is a record without one.
        headers: Names and values, in order, repeats allowed.
    """

    key: bytes | None
    value: bytes | None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a topic.

    Attributes:
        offset: Its place in the topic, from 0, without gaps.
        key: As published.
        value: As published.
        headers: As published.
        timestamp_ms: When it was published, in unix milliseconds.
    """

    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int = 0


def encode_headers(headers: Headers) -> str | None:
    """Write headers as JSON; bytes become the characters of the same numbers."""
    if not headers:
        return None
    return json.dumps([[name, value.decode("latin-1")] for name, value in headers])


def decode_headers(text: str | None) -> Headers:
    """Read what `encode_headers` wrote."""
    if text is None:
        return ()
    return tuple((name, value.encode("latin-1")) for name, value in json.loads(text))
