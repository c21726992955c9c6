"""What a live source hands to the runner in one round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from beam_agents.io.records import InboundRecord


@dataclass(frozen=True)
class Progress:
    """Where a log is read next, and its watermark once all before that is processed."""

    next_offset: int
    watermark_ms: int


@dataclass(frozen=True)
class Batch:
    """One micro-batch of one topic.

    Attributes:
        records: What was read; the next batch is read when all of it is done.
        held_at_ms: The timestamp of the records in the pipeline. They are as old as
            the source's watermark was before them, so that no timer which their
            own event times come before can fire until they are processed.
        watermark_ms: The source's watermark once they are.
        progress: How far the topic's logs are once they are, by log id.
        wakes: Keys whose state was restored, by namespace, for their agents to look at.
    """

    records: Sequence[InboundRecord]
    held_at_ms: int
    watermark_ms: int
    progress: Mapping[str, Progress] = field(default_factory=dict)
    wakes: Sequence[tuple[str, bytes]] = ()


class Feed(Protocol):
    """Where a live source of the pipeline gets its batches."""

    def next_batch(self, is_quiet: Callable[[], bool]) -> Batch:
        """Read the next batch, after waiting for one for a moment.

        Args:
            is_quiet: Tells whether everything handed out before has been processed.
        """

    def handed_out(self, batch: Batch) -> None:
        """Go on after this batch: the runner has it now."""
