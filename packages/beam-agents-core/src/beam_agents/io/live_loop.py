"""The rounds of a live pipeline: wait for records, hand out a batch, save when it is done.

A round begins when the runner asks its sources for more, which it does only when
nothing else can move. If then every bundle is processed and no timer is firing,
all that came of the last round is durable on its topics, so key states and
positions are saved together; then each source hands out one batch. After a crash
the batches since the last checkpoint are read again, against the states that they
met the first time: the same intents come out under the same ids.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from beam_agents.core.clock import EARLIEST_MS
from beam_agents.core.errors import PipelineError
from beam_agents.io.batches import Batch
from beam_agents.io.schemes import TopicReader, open_reader
from beam_agents.io.state_file import Checkpoint, StateFile

# How often an idle loop lets its watermark move, and with it the timers.
_TICK_S = 0.1
_LOOK_S = 0.01


class LiveLoop:
    """The sources of one pipeline, their positions, and the file that these are saved in.

    Everything but `stop` is called on the runner's one thread.

    Args:
        state: Where the loop continues from.
        batch_size: At most so many records of a topic in one round.
        clock_ms: The wall clock.
    """

    def __init__(self, state: StateFile, *, batch_size: int, clock_ms: Callable[[], int]) -> None:
        self.clock_ms = clock_ms
        self.batch_size = batch_size
        self.stopped = threading.Event()
        self._stopping = threading.Event()
        self._state = state
        self._feeds: list[TopicFeed] = []
        self._served: set[TopicFeed] = set()
        self._open = False
        self._wakes = deque(state.keys())

    def add_feed(self, uri: str) -> TopicFeed:
        """Open a topic, at the position of the last checkpoint.

        Raises:
            PipelineError: The pipeline reads this topic already.
        """
        reader, idle_after_ms = open_reader(uri)
        if any(reader.log_id == feed.log_id for feed in self._feeds):
            raise PipelineError(f"{uri!r} is read twice: read it once, and use the output twice")
        start = self._state.last.positions.get(reader.log_id, 0)
        watermark_ms = self._state.last.watermark_ms
        feed = TopicFeed(
            self,
            reader,
            start,
            EARLIEST_MS if watermark_ms is None else watermark_ms,
            idle_after_ms,
        )
        self._feeds.append(feed)
        return feed

    def stop(self) -> None:
        """Ask the loop to stop after its next checkpoint; `stopped` is set then."""
        self._stopping.set()

    def serve(self, feed: TopicFeed, is_quiet: Callable[[], bool]) -> Batch:
        """Give a feed its batch of this round, beginning the round if it is the first."""
        if feed in self._served or not self._served:
            self._served.clear()
            self._open = self._begin_round(is_quiet)
        self._served.add(feed)
        if not self._open:
            return feed.no_records()
        if self._wakes:
            return feed.no_records(wakes=[self._wakes[n] for n in range(self._wake_count())])
        return feed.read(self.batch_size)

    def handed_out(self, batch: Batch) -> None:
        """Forget the keys that are awake now."""
        for _ in batch.wakes:
            self._wakes.popleft()

    def _begin_round(self, is_quiet: Callable[[], bool]) -> bool:
        """Save and wait; False where no source may hand out records in this round."""
        if not is_quiet():
            # A step failed, or waits for a side input. To read on, or to save,
            # would be to pass over what it has not done.
            time.sleep(_TICK_S)
            return False
        self._state.checkpoint(self._here())
        if self._stopping.is_set():
            self.stopped.set()
            time.sleep(_TICK_S)
            return False
        self._wait_for_records()
        return True

    def _here(self) -> Checkpoint:
        positions = {feed.log_id: feed.next_offset for feed in self._feeds}
        return Checkpoint(positions, min(feed.watermark_ms for feed in self._feeds))

    def _wait_for_records(self) -> None:
        give_up = time.monotonic() + _TICK_S
        while not self._wakes and not any(feed.has_records() for feed in self._feeds):
            if time.monotonic() >= give_up or self._stopping.wait(_LOOK_S):
                return

    def _wake_count(self) -> int:
        return min(self.batch_size, len(self._wakes))


class TopicFeed:
    """One topic of a live loop: where it is read next, and its watermark.

    The watermark says up to when nothing more can come: while there is a backlog,
    the log's own time of the last record; at the end of the log, the time of that
    look less `idle_after_ms`, which is left for records that are under way. So it
    follows the clock on a quiet topic, and stands still where reading fails.
    """

    def __init__(
        self,
        loop: LiveLoop,
        reader: TopicReader,
        next_offset: int,
        watermark_ms: int,
        idle_after_ms: int,
    ) -> None:
        self.next_offset = next_offset
        self.watermark_ms = watermark_ms
        self.log_id = reader.log_id
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
        self._loop.handed_out(batch)

    def has_records(self) -> bool:
        """Whether there is something to read."""
        return self._reader.end() > self.next_offset

    def read(self, limit: int) -> Batch:
        """Read what comes next, and judge how far time has moved."""
        looked_at_ms = self._loop.clock_ms()
        records = self._reader.read(self.next_offset, limit, received_at_ms=looked_at_ms)
        watermark_ms = self.watermark_ms
        if records:
            # By our clock at most: one record from the future must not fire every timer.
            watermark_ms = max(watermark_ms, min(records[-1].timestamp_ms, looked_at_ms))
        if len(records) < limit:
            watermark_ms = max(watermark_ms, looked_at_ms - self._idle_after_ms)
        return Batch(
            records=records,
            next_offset=records[-1].offset + 1 if records else self.next_offset,
            held_at_ms=self.watermark_ms,
            watermark_ms=watermark_ms,
        )

    def no_records(self, wakes: list[tuple[str, bytes]] | None = None) -> Batch:
        """Hand out nothing that is new."""
        return Batch((), self.next_offset, self.watermark_ms, self.watermark_ms, wakes or ())
