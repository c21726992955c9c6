"""A topic of several partitions, whose readers a test scripts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from beam_agents.io.batches import Batch
from beam_agents.io.live_loop import LiveLoop
from beam_agents.io.log_feed import LogFeed
from beam_agents.io.logs import Look
from beam_agents.io.records import InboundRecord
from beam_agents.io.state_file import StateFile
from beam_agents.io.topic_feed import TopicFeed

IDLE_AFTER_MS = 100


class ScriptedReader:
    """Holds records that the log took at one time, and answers until it is away."""

    def __init__(self, name: str, count: int, at_ms: int) -> None:
        self.log_id = name
        self.records = [
            InboundRecord(b"k", f"{name}{n}".encode(), timestamp_ms=at_ms, offset=n)
            for n in range(count)
        ]
        self.is_away = False
        self.committed: list[int] = []

    def first_offset(self) -> int:
        return 0

    def has_more(self, offset: int) -> bool:
        return offset < len(self.records)

    def look(self, offset: int, limit: int, now_ms: int) -> Look:
        if self.is_away:
            return Look((), offset, None)
        found = self.records[offset : offset + limit]
        next_offset = offset + len(found)
        return Look(found, next_offset, None if self.has_more(next_offset) else now_ms)

    def commit(self, next_offset: int) -> None:
        self.committed.append(next_offset)

    def close(self) -> None:
        raise AssertionError("nobody closes it here")


class Topic:
    """A feed of the readers, in a loop of its own."""

    def __init__(self, state: StateFile, *readers: ScriptedReader, batch_size: int = 10) -> None:
        self.now_ms = 1_000
        self.loop = LiveLoop(state, batch_size=batch_size, clock_ms=lambda: self.now_ms)
        self.feed = TopicFeed(self.loop)
        for reader in readers:
            log = LogFeed(reader, next_offset=0, watermark_ms=0, idle_after_ms=IDLE_AFTER_MS)
            self.feed.logs.append(log)

    def take(self) -> Batch:
        batch = self.feed.read(10, self.now_ms)
        self.feed.handed_out(batch)
        return batch


@pytest.fixture
def state(tmp_path: Path) -> Iterator[StateFile]:
    with closing(StateFile(tmp_path / "loop.sqlite")) as state:
        yield state


def values(batch: Batch) -> list[bytes | None]:
    return [record.value for record in batch.records]


def test_every_partition_is_read(state: StateFile) -> None:
    topic = Topic(state, ScriptedReader("a", 2, 1), ScriptedReader("b", 1, 1))

    assert values(topic.take()) == [b"a0", b"a1", b"b0"]


def test_a_backlog_of_one_partition_starves_no_other(state: StateFile) -> None:
    topic = Topic(state, ScriptedReader("a", 25, 1), ScriptedReader("b", 1, 1))

    assert values(topic.take()) == [b"a%d" % n for n in range(10)]
    assert values(topic.take()) == [b"b0", *(b"a%d" % n for n in range(10, 19))]


def test_the_partition_that_is_furthest_behind_holds_the_time(state: StateFile) -> None:
    topic = Topic(state, ScriptedReader("a", 25, 300), ScriptedReader("b", 0, 0))

    assert topic.take().watermark_ms == 0  # there was no room to look at the other
    assert topic.take().watermark_ms == 200
    assert topic.take().watermark_ms == topic.now_ms - IDLE_AFTER_MS


def test_a_partition_that_does_not_answer_holds_the_time(state: StateFile) -> None:
    away = ScriptedReader("a", 0, 0)
    topic = Topic(state, away, ScriptedReader("b", 0, 0))
    topic.take()
    away.is_away = True
    topic.now_ms += 5_000

    assert topic.take().watermark_ms == 900

    away.is_away = False
    assert topic.take().watermark_ms == 5_900


def test_a_group_hears_only_of_what_is_saved(state: StateFile) -> None:
    reader = ScriptedReader("a", 3, 1)
    topic = Topic(state, reader)
    topic.take()

    assert reader.committed == []
    topic.feed.commit()
    assert reader.committed == [3]
