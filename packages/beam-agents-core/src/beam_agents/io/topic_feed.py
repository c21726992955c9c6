"""One topic of a live loop: its logs, read in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from beam_agents.io.batches import Batch, Progress
from beam_agents.io.log_feed import LogFeed
from beam_agents.io.records import InboundRecord

if TYPE_CHECKING:
    from beam_agents.io.live_loop import LiveLoop


class TopicFeed:
    """Batches of one topic, whose watermark is that of the log that is furthest behind.

    Attributes:
        logs: The topic's partitions.
    """

    def __init__(self, loop: LiveLoop) -> None:
        self.logs: list[LogFeed] = []
        self._loop = loop

    @property
    def watermark_ms(self) -> int:
        """Up to when nothing more is expected of the topic."""
        return min(log.watermark_ms for log in self.logs)

    def next_batch(self, is_quiet: Callable[[], bool]) -> Batch:
        """Read the next batch, after waiting for one for a moment."""
        return self._loop.serve(self, is_quiet)

    def handed_out(self, batch: Batch) -> None:
        """Go on after this batch: the runner has it now."""
        for log in self.logs:
            if log.log_id in batch.progress:
                log.go_on(batch.progress[log.log_id])
        # Who was served first is served last, so that no backlog starves the others.
        self.logs.append(self.logs.pop(0))
        self._loop.awake(len(batch.wakes))

    def has_more(self) -> bool:
        """Whether there is something to read."""
        return any(log.has_more() for log in self.logs)

    def read(self, limit: int, now_ms: int) -> Batch:
        """Read what comes next, and judge how far time has moved."""
        records: list[InboundRecord] = []
        progress = {log.log_id: Progress(log.next_offset, log.watermark_ms) for log in self.logs}
        for log in self.logs:
            if len(records) == limit:
                break
            look, progress[log.log_id] = log.look(limit - len(records), now_ms)
            records += look.records
        return Batch(
            records=records,
            held_at_ms=self.watermark_ms,
            watermark_ms=min(each.watermark_ms for each in progress.values()),
            progress=progress,
        )

    def no_records(self, wakes: Sequence[tuple[str, bytes]] = ()) -> Batch:
        """Hand out nothing that is new."""
        return Batch((), self.watermark_ms, self.watermark_ms, wakes=wakes)

    def commit(self) -> None:
        """Tell the group, where there is one, how far the topic is processed."""
        for log in self.logs:
            log.commit()

    def close(self) -> None:
        """Close the readers."""
        for log in self.logs:
            log.close()
