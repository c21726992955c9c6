"""Which topics can be read and written, by the scheme of their URI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from beam_agents.intents.topics import TopicUri, UriError, mask_uri
from beam_agents.io import sqlite
from beam_agents.io.records import InboundRecord, OutboundRecord

READER_PARAMS = ("group", "idle_after_ms")
DEFAULT_IDLE_AFTER_MS = 5_000


class TopicReader(Protocol):
    """Reads one ordered log."""

    @property
    def log_id(self) -> str:
        """Names the log wherever it is reached from; positions are kept under it."""

    def end(self) -> int:
        """Return the offset that the next record will have."""

    def read(self, start: int, limit: int, *, received_at_ms: int) -> Sequence[InboundRecord]:
        """Read records from an offset on; fewer than the limit only at the end of the log."""


class TopicWriter(Protocol):
    """Appends to one topic."""

    def write(self, records: Sequence[OutboundRecord]) -> None:
        """Return once all are durable, in order; raise where some may not be."""


@dataclass(frozen=True)
class Scheme:
    """How the topics of one scheme are opened."""

    reader: Callable[[TopicUri], TopicReader]
    writer: Callable[[TopicUri], TopicWriter]


_SCHEMES: Mapping[str, Scheme] = {
    "sqlite": Scheme(reader=sqlite.SqliteReader, writer=sqlite.SqliteWriter),
}


def check_reader(text: str) -> str:
    """Return the URI if its topic can be read; for constructors, where mistakes are made.

    Raises:
        UriError: Saying what is supported.
    """
    uri = _parse(text, READER_PARAMS)
    idle_after_ms(uri)
    return text


def check_writer(text: str) -> str:
    """Return the URI if its topic can be written; for constructors, where mistakes are made.

    Raises:
        UriError: Saying what is supported.
    """
    _parse(text, ())
    return text


def open_reader(text: str) -> tuple[TopicReader, int]:
    """Open a topic for reading; return the reader and its `idle_after_ms`."""
    uri = _parse(text, READER_PARAMS)
    return _SCHEMES[uri.scheme].reader(uri), idle_after_ms(uri)


def open_writer(text: str) -> TopicWriter:
    """Open a topic for writing."""
    uri = _parse(text, ())
    return _SCHEMES[uri.scheme].writer(uri)


def idle_after_ms(uri: TopicUri) -> int:
    """Return after how long at the end of its log a source's watermark follows the clock."""
    text = uri.params.get("idle_after_ms", str(DEFAULT_IDLE_AFTER_MS))
    if not (text.isascii() and text.isdigit()):
        raise UriError(f"idle_after_ms must be a number of milliseconds, not {text!r}")
    return int(text)


def _parse(text: str, params: tuple[str, ...]) -> TopicUri:
    uri = TopicUri.parse(text)
    if uri.scheme not in _SCHEMES:
        raise UriError(
            f"{mask_uri(text)!r} cannot be used in a pipeline: supported are "
            + ", ".join(f"{scheme}://" for scheme in _SCHEMES)
        )
    unknown = sorted(uri.params.keys() - set(params))
    if unknown:
        known = ", ".join(params) or "none"
        raise UriError(f"{mask_uri(text)!r} has unknown parameters {unknown}; known are: {known}")
    return uri
