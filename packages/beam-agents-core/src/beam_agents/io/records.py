"""A record of a topic as a reader hands it out, and as a writer takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Headers: TypeAlias = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class InboundRecord:
    """A record that was read.

    Attributes:
        key: The record's key, or None.
        value: The record's bytes, or None.
        headers: Names and values, in order, repeats allowed.
        timestamp_ms: When the log took it, in unix milliseconds.
        received_at_ms: When it was read; another reading stamps another time.
        topic: Where it was read.
        offset: Its place there.
        partition: In which partition of the topic, where it has several.
    """

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int = 0
    received_at_ms: int = 0
    topic: str = ""
    offset: int = 0
    partition: int | None = None

    @property
    def place(self) -> str:
        """Topic, partition and offset, for messages."""
        of_partition = "" if self.partition is None else f"of partition {self.partition} "
        return f"record {self.offset} {of_partition}of topic {self.topic!r}"


@dataclass(frozen=True)
class OutboundRecord:
    """A record to be written."""

    key: bytes
    value: bytes
    headers: Headers = ()
