"""Rounds, positions and watermarks, without Beam: the runner's part is played by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from beam_agents.core.clock import EARLIEST_MS
from beam_agents.core.errors import PipelineError
from beam_agents.embedded import EmbeddedBus
from beam_agents.io.address import TopicAddress
from beam_agents.io.batches import Batch
from beam_agents.io.live_loop import LiveLoop
from beam_agents.io.state_file import StateFile
from beam_agents.io.topic_feed import TopicFeed


@dataclass
class World:
    """A bus and a state file, whose clock a test moves."""

    folder: Path
    now_ms: int = 1_000_000

    def __post_init__(self) -> None:
        self.bus = EmbeddedBus(self.folder / "bus.sqlite", clock_ms=lambda: self.now_ms)
        self.state = StateFile(self.folder / "loop.sqlite")

    def loop(self, batch_size: int = 2) -> LiveLoop:
        return LiveLoop(self.state, batch_size=batch_size, clock_ms=lambda: self.now_ms)

    def address(self, topic: str = "events", idle_after_ms: int = 5_000) -> TopicAddress:
        return TopicAddress(
            f"sqlite:///{self.bus.path}?topic={topic}&idle_after_ms={idle_after_ms}"
        )

    def publish(self, *values: bytes, topic: str = "events") -> None:
        for value in values:
            self.bus.publish(topic, key=b"k", value=value)

    def restart(self) -> None:
        self.state.close()
        self.state = StateFile(self.folder / "loop.sqlite")

    def close(self) -> None:
        self.state.close()
        self.bus.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with closing(World(tmp_path)) as world:
        yield world


def take(feed: TopicFeed, *, quiet: bool = True) -> Batch:
    batch = feed.next_batch(lambda: quiet)
    feed.handed_out(batch)
    return batch


def log_id(feed: TopicFeed) -> str:
    (log,) = feed.logs
    return log.log_id


def values(batch: Batch) -> list[bytes | None]:
    return [record.value for record in batch.records]


def test_batches_are_bounded_and_in_order(world: World) -> None:
    world.publish(b"0", b"1", b"2")
    feed = world.loop().add_feed(world.address())
    assert values(take(feed)) == [b"0", b"1"]
    assert values(take(feed)) == [b"2"]
    assert values(take(feed)) == []


def test_records_are_stamped_when_they_are_read(world: World) -> None:
    world.publish(b"0")
    world.now_ms += 500
    (record,) = take(world.loop().add_feed(world.address())).records
    assert (record.timestamp_ms, record.received_at_ms) == (1_000_000, 1_000_500)


def test_a_batch_that_was_not_handed_out_is_read_again(world: World) -> None:
    world.publish(b"0")
    feed = world.loop().add_feed(world.address())
    assert values(feed.next_batch(lambda: True)) == [b"0"]
    assert values(feed.next_batch(lambda: True)) == [b"0"]


def test_a_round_is_saved_when_it_is_done(world: World) -> None:
    world.publish(b"0")
    feed = world.loop().add_feed(world.address())
    take(feed)
    world.state.save("", {b"k": b"cell"})
    assert world.state.last.positions == {log_id(feed): 0}
    take(feed)
    assert world.state.last.positions == {log_id(feed): 1}
    assert world.state.load("", b"k") == b"cell"


def test_nothing_is_saved_or_read_while_the_round_is_not_done(world: World) -> None:
    world.publish(b"0")
    feed = world.loop().add_feed(world.address())
    take(feed)
    world.publish(b"1")
    assert values(take(feed, quiet=False)) == []
    assert world.state.last.positions == {log_id(feed): 0}
    assert values(take(feed)) == [b"1"]


def test_a_restarted_loop_reads_on_from_the_last_checkpoint(world: World) -> None:
    world.publish(b"0", b"1", b"2", b"3")
    feed = world.loop().add_feed(world.address())
    take(feed)
    take(feed)  # saves the first round; the second is never finished
    world.restart()
    assert values(take(world.loop().add_feed(world.address()))) == [b"2", b"3"]


def test_every_source_has_its_batch_in_a_round(world: World) -> None:
    world.publish(b"0", b"1", topic="a")
    world.publish(b"2", topic="b")
    loop = world.loop(batch_size=1)
    a, b = loop.add_feed(world.address("a")), loop.add_feed(world.address("b"))
    assert [values(take(a)), values(take(b))] == [[b"0"], [b"2"]]
    assert world.state.last.positions == {log_id(a): 0, log_id(b): 0}
    assert [values(take(b)), values(take(a))] == [[], [b"1"]]
    assert world.state.last.positions == {log_id(a): 1, log_id(b): 1}


def test_a_topic_cannot_be_read_twice(world: World) -> None:
    loop = world.loop()
    loop.add_feed(world.address())
    with pytest.raises(PipelineError, match="twice"):
        loop.add_feed(world.address())


def test_a_stop_comes_after_a_checkpoint(world: World) -> None:
    world.publish(b"0", b"1", b"2")
    loop = world.loop()
    feed = loop.add_feed(world.address())
    take(feed)
    loop.stop()
    assert not loop.stopped.is_set()
    take(feed, quiet=False)
    assert not loop.stopped.is_set()
    assert values(take(feed)) == []
    assert loop.stopped.is_set()
    assert world.state.last.positions == {log_id(feed): 2}


def test_restored_keys_are_woken_before_anything_is_read(world: World) -> None:
    feed = world.loop().add_feed(world.address())
    take(feed)
    world.state.save("ns", {b"a": b"cell", b"b": b"cell", b"c": b"cell"})
    take(feed)
    world.restart()
    world.publish(b"0")
    feed = world.loop(batch_size=2).add_feed(world.address())
    assert take(feed).wakes == [("ns", b"a"), ("ns", b"b")]
    assert take(feed).wakes == [("ns", b"c")]
    assert values(take(feed)) == [b"0"]


def test_in_a_backlog_time_is_the_logs_own(world: World) -> None:
    for value in (b"0", b"1", b"2"):
        world.now_ms += 1_000
        world.publish(value)
    world.now_ms += 60_000
    feed = world.loop().add_feed(world.address())
    assert take(feed).watermark_ms == 1_002_000 - 5_000
    assert take(feed).watermark_ms == world.now_ms - 5_000


def test_records_are_held_at_the_watermark_before_them(world: World) -> None:
    feed = world.loop().add_feed(world.address())
    assert take(feed).held_at_ms == EARLIEST_MS
    world.now_ms += 60_000
    world.publish(b"0")
    batch = take(feed)
    assert (batch.held_at_ms, batch.watermark_ms) == (995_000, 1_055_000)


def test_the_watermark_of_a_quiet_topic_follows_the_clock(world: World) -> None:
    feed = world.loop().add_feed(world.address(idle_after_ms=200))
    for _ in range(3):
        world.now_ms += 1_000
        assert take(feed).watermark_ms == world.now_ms - 200


def test_the_watermark_never_goes_back(world: World) -> None:
    feed = world.loop().add_feed(world.address())
    assert take(feed).watermark_ms == 995_000
    world.now_ms -= 10_000
    world.publish(b"0", b"1")
    assert take(feed).watermark_ms == 995_000


def test_a_record_from_the_future_does_not_move_time(world: World) -> None:
    world.now_ms += 3_600_000
    world.publish(b"0", b"1")
    world.now_ms -= 3_600_000
    assert take(world.loop().add_feed(world.address())).watermark_ms == world.now_ms - 5_000


def test_the_watermark_goes_on_after_a_restart(world: World) -> None:
    world.publish(b"0", b"1", b"2")
    feed = world.loop().add_feed(world.address())
    take(feed)
    take(feed)
    world.restart()
    world.now_ms -= 10_000
    assert take(world.loop().add_feed(world.address())).held_at_ms == 995_000
