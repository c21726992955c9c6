"""What pipelines need of a topic's transport: the ports, and what they hand over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from beam_agents.io.records import InboundRecord, OutboundRecord


@dataclass(frozen=True)
class Look:
    """What one look at a log found.

    Attributes:
        records: What comes next in it, in order.
        next_offset: Where the next look begins.
        end_seen_ms: When the log was last heard to hold nothing more; None where it
            holds more, and where it does not answer.
    """

    records: Sequence[InboundRecord]
    next_offset: int
    end_seen_ms: int | None


class LogReader(Protocol):
    """Reads one ordered log: a topic, or one partition of it."""

    @property
    def log_id(self) -> str:
        """Names the log wherever it is reached from; positions are kept under it."""

    def first_offset(self) -> int:
        """Return where to begin without a position: as far as the group got, or the start."""

    def has_more(self, offset: int) -> bool:
        """Tell whether there is something to read from an offset on, as far as is known."""

    def look(self, offset: int, limit: int, now_ms: int) -> Look:
        """Take what is there from an offset on, without waiting for more."""

    def commit(self, next_offset: int) -> None:
        """Tell the group, where there is one, how far it got. Returns at once."""

    def close(self) -> None:
        """Let go of the connection."""


class TopicWriter(Protocol):
    """Appends to one topic."""

    def write(self, records: Sequence[OutboundRecord]) -> None:
        """Return once all are durable, in order; raise where some may not be."""
