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
from itertools import islice

from beam_agents.core.clock import EARLIEST_MS
from beam_agents.core.errors import PipelineError
from beam_agents.io.address import TopicAddress
from beam_agents.io.batches import Batch
from beam_agents.io.log_feed import LogFeed
from beam_agents.io.schemes import idle_after_ms, open_reader, partitions
from beam_agents.io.state_file import Checkpoint, StateFile
from beam_agents.io.topic_feed import TopicFeed

# How often an idle loop lets its watermark move, and with it the timers.
_TICK_S = 0.1
_LOOK_S = 0.01


class LiveLoop:
    """The sources of one pipeline, and the file that it continues from.

    Everything but `stop` is called on the runner's one thread.

    Args:
        state: Where the loop continues from.
        batch_size: At most so many records of a topic in one round.
        clock_ms: The wall clock.
    """

    def __init__(self, state: StateFile, *, batch_size: int, clock_ms: Callable[[], int]) -> None:
        self.stopped = threading.Event()
        self._stopping = threading.Event()
        self._state = state
        self._batch_size = batch_size
        self._clock_ms = clock_ms
        self._feeds: list[TopicFeed] = []
        self._served: set[TopicFeed] = set()
        self._round_is_open = False
        self._wakes = deque(state.keys())

    def add_feed(self, address: TopicAddress) -> TopicFeed:
        """Open a topic, at the position of the last checkpoint.

        Raises:
            PipelineError: The pipeline reads this topic already.
            TopicUnavailable: It cannot be read.
        """
        feed = TopicFeed(self)
        self._feeds.append(feed)
        for partition in partitions(address):
            feed.logs.append(self._open_log(address, partition))
        return feed

    def close(self) -> None:
        """Let go of what the topics are read by."""
        for feed in self._feeds:
            feed.close()

    def stop(self) -> None:
        """Ask the loop to stop after its next checkpoint; `stopped` is set then."""
        self._stopping.set()

    def serve(self, feed: TopicFeed, is_quiet: Callable[[], bool]) -> Batch:
        """Give a feed its batch of this round, beginning the round if it is the first."""
        if feed in self._served or not self._served:
            self._served.clear()
            self._round_is_open = self._begin_round(is_quiet)
        self._served.add(feed)
        if not self._round_is_open:
            return feed.no_records()
        if self._wakes:
            return feed.no_records(wakes=list(islice(self._wakes, self._batch_size)))
        return feed.read(self._batch_size, self._clock_ms())

    def awake(self, count: int) -> None:
        """Forget the first of the keys that were to be woken: the runner has them now."""
        for _ in range(count):
            self._wakes.popleft()

    def _open_log(self, address: TopicAddress, partition: int) -> LogFeed:
        reader = open_reader(address, partition)
        last = self._state.last
        if any(reader.log_id == log.log_id for feed in self._feeds for log in feed.logs):
            reader.close()
            raise PipelineError(
                f"{str(address)!r} is read twice: read it once, and use the output twice"
            )
        offset = last.positions.get(reader.log_id)
        return LogFeed(
            reader,
            next_offset=reader.first_offset() if offset is None else offset,
            watermark_ms=EARLIEST_MS if last.watermark_ms is None else last.watermark_ms,
            idle_after_ms=idle_after_ms(address.uri),
        )

    def _begin_round(self, is_quiet: Callable[[], bool]) -> bool:
        """Save and wait; False where no source may hand out records in this round."""
        if not is_quiet():
            # A step failed, or waits for a side input. To read on, or to save,
            # would be to pass over what it has not done.
            time.sleep(_TICK_S)
            return False
        if self._state.checkpoint(self._here()):
            for feed in self._feeds:
                feed.commit()
        if self._stopping.is_set():
            self.stopped.set()
            time.sleep(_TICK_S)
            return False
        self._wait_for_records()
        return True

    def _here(self) -> Checkpoint:
        positions = {log.log_id: log.next_offset for feed in self._feeds for log in feed.logs}
        return Checkpoint(positions, min(feed.watermark_ms for feed in self._feeds))

    def _wait_for_records(self) -> None:
        give_up = time.monotonic() + _TICK_S
        while not self._wakes and not any(feed.has_more() for feed in self._feeds):
            if time.monotonic() >= give_up or self._stopping.wait(_LOOK_S):
                return
