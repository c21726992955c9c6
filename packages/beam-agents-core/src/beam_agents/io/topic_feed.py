"""One topic of a live loop: where it is read next, and how far its time has moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from beam_agents.io.batches import Batch
from beam_agents.io.schemes import TopicReader

if TYPE_CHECKING:
    from beam_agents.io.live_loop import LiveLoop


class TopicFeed:
    """Position and watermark of one topic.

    The watermark says up to when nothing more is expected. While there is a backlog,
    all has been read up to the log's own time of the last record; at the end of the
    log, up to the time of that look. `idle_after_ms` is taken off either, for answers
    that were completed and are still on their way to the log. So the watermark
    follows the clock on a quiet topic, stands still where reading fails, and never
    depends on what an event says of its own time.
    """

    def __init__(
        self,
        loop: LiveLoop,
        reader: TopicReader,
        *,
        next_offset: int,
        watermark_ms: int,
        idle_after_ms: int,
    ) -> None:
        self.log_id = reader.log_id
        self.next_offset = next_offset
        self.watermark_ms = watermark_ms
        self._loop = loop
        self._reader = reader
        self._idle_after_ms = idle_after_ms

    def next_batch(self, is_quiet: Callable[[], bool]) -> Batch:
        """Read the next batch, after waiting for one for a moment."""
        return self._loop.serve(self, is_quiet)

    def handed_out(self, batch: Batch) -> None:
        """Go on after this batch: the runner has it now."""
        self.next_offset = batch.next_offset
        self.watermark_ms = batch.watermark_ms
        self._loop.awake(len(batch.wakes))

    def has_records(self) -> bool:
        """Whether there is something to read."""
        return self._reader.end() > self.next_offset

    def read(self, limit: int, now_ms: int) -> Batch:
        """Read what comes next, and judge how far time has moved."""
        records = self._reader.read(self.next_offset, limit, received_at_ms=now_ms)
        all_read_until_ms = now_ms
        if len(records) == limit:
            # By our clock at most: a record from the future must not fire every timer.
            all_read_until_ms = min(records[-1].timestamp_ms, now_ms)
        return Batch(
            records=records,
            next_offset=records[-1].offset + 1 if records else self.next_offset,
            held_at_ms=self.watermark_ms,
            watermark_ms=max(self.watermark_ms, all_read_until_ms - self._idle_after_ms),
        )

    def no_records(self, wakes: Sequence[tuple[str, bytes]] = ()) -> Batch:
        """Hand out nothing that is new."""
        return Batch((), self.next_offset, self.watermark_ms, self.watermark_ms, wakes)
