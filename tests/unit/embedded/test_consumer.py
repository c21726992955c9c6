from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from beam_agents.embedded import BusConsumer, ConsumerFenced, EmbeddedBus, NewRecord


@dataclass
class HandClock:
    """A wall clock that a test moves."""

    now_ms: int = 1_000_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def bus(tmp_path: Path, clock: HandClock) -> Iterator[EmbeddedBus]:
    with EmbeddedBus(tmp_path / "bus.sqlite", clock_ms=clock) as bus:
        bus.publish_all("a", [NewRecord(b"k", b"%d" % n) for n in range(6)])
        yield bus


def member(bus: EmbeddedBus, lease_ms: int = 3_000) -> BusConsumer:
    return bus.consumer("workers", "a", lease_ms=lease_ms)


def offsets(consumer: BusConsumer, limit: int = 100) -> list[int]:
    return [record.offset for record in consumer.poll(limit)]


def test_polls_go_on_where_the_last_one_ended(bus: EmbeddedBus) -> None:
    consumer = member(bus)
    assert offsets(consumer, 4) == [0, 1, 2, 3]
    assert offsets(consumer, 4) == [4, 5]
    assert offsets(consumer, 4) == []


def test_a_new_consumer_starts_at_the_committed_offset(bus: EmbeddedBus) -> None:
    with member(bus) as first:
        first.poll()
        first.commit(2)
    assert bus.committed("workers", "a") == 2
    assert offsets(member(bus)) == [2, 3, 4, 5]


def test_groups_do_not_share_offsets(bus: EmbeddedBus) -> None:
    consumer = member(bus)
    consumer.poll()
    consumer.commit(6)
    assert offsets(bus.consumer("others", "a")) == [0, 1, 2, 3, 4, 5]


def test_a_commit_never_goes_back(bus: EmbeddedBus) -> None:
    consumer = member(bus)
    consumer.poll()
    consumer.commit(5)
    consumer.commit(2)
    assert bus.committed("workers", "a") == 5


def test_a_second_consumer_stands_by(bus: EmbeddedBus) -> None:
    owner, standby = member(bus), member(bus)
    assert offsets(owner, 1) == [0]
    assert offsets(standby) == []
    assert owner.generation == 1
    assert standby.generation is None


def test_closing_hands_over_at_once(bus: EmbeddedBus) -> None:
    owner, standby = member(bus), member(bus)
    owner.poll()
    standby.poll()
    owner.commit(3)
    owner.close()
    assert offsets(standby) == [3, 4, 5]


def test_a_standby_takes_over_when_the_lease_is_over(bus: EmbeddedBus, clock: HandClock) -> None:
    owner, standby = member(bus), member(bus)
    owner.poll()
    clock.now_ms += 2_999
    assert offsets(standby) == []
    clock.now_ms += 1
    assert offsets(standby) == [0, 1, 2, 3, 4, 5]
    assert standby.generation == 2


def test_polling_keeps_the_lease(bus: EmbeddedBus, clock: HandClock) -> None:
    owner, standby = member(bus), member(bus)
    for _ in range(10):
        owner.poll()
        clock.now_ms += 2_000
        assert offsets(standby) == []


def test_a_heartbeat_keeps_the_lease_without_reading(bus: EmbeddedBus, clock: HandClock) -> None:
    owner, standby = member(bus), member(bus)
    for _ in range(10):
        assert owner.heartbeat()
        clock.now_ms += 2_000
        assert not standby.heartbeat()
    assert offsets(owner) == [0, 1, 2, 3, 4, 5]


def test_a_commit_keeps_the_lease(bus: EmbeddedBus, clock: HandClock) -> None:
    owner, standby = member(bus), member(bus)
    owner.poll()
    for offset in range(6):
        owner.commit(offset)
        clock.now_ms += 2_000
        assert offsets(standby) == []


def test_a_stale_owner_cannot_commit(bus: EmbeddedBus, clock: HandClock) -> None:
    stale, successor = member(bus), member(bus)
    stale.poll()
    clock.now_ms += 3_000
    successor.poll()
    successor.commit(1)
    with pytest.raises(ConsumerFenced, match="'workers'"):
        stale.commit(6)
    assert bus.committed("workers", "a") == 1
    assert stale.generation is None


def test_a_stale_owner_cannot_end_its_successors_lease(bus: EmbeddedBus, clock: HandClock) -> None:
    stale, successor, third = member(bus), member(bus), member(bus)
    stale.poll()
    clock.now_ms += 3_000
    successor.poll()
    stale.close()
    assert offsets(third) == []
    assert successor.heartbeat()


def test_an_owner_past_its_lease_goes_on_if_nobody_took_over(
    bus: EmbeddedBus, clock: HandClock
) -> None:
    owner = member(bus)
    assert offsets(owner, 2) == [0, 1]
    clock.now_ms += 60_000
    owner.commit(2)
    assert offsets(owner) == [2, 3, 4, 5]
    assert owner.generation == 1


def test_a_consumer_that_wins_the_group_back_is_in_a_new_generation(
    bus: EmbeddedBus, clock: HandClock
) -> None:
    first, second = member(bus), member(bus)
    assert offsets(first) == [0, 1, 2, 3, 4, 5]
    clock.now_ms += 3_000
    second.poll()
    second.commit(4)
    second.close()
    assert offsets(first) == [4, 5]
    assert first.generation == 3


def test_a_consumer_that_does_not_own_the_group_cannot_commit(bus: EmbeddedBus) -> None:
    with pytest.raises(ConsumerFenced):
        member(bus).commit(1)


def test_an_idle_owner_does_not_write(bus: EmbeddedBus) -> None:
    consumer, watcher = member(bus), EmbeddedBus(bus.path)
    consumer.poll()

    def writes_of_others() -> int:
        with watcher._database.read() as connection:
            return int(connection.execute("PRAGMA data_version").fetchone()[0])

    before = writes_of_others()
    for _ in range(5):
        consumer.poll()
    assert writes_of_others() == before
    watcher.close()


def test_a_lease_must_be_positive(bus: EmbeddedBus) -> None:
    with pytest.raises(ValueError, match="lease_ms"):
        member(bus, lease_ms=0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_a_forked_child_does_not_pass_for_its_parent(bus: EmbeddedBus) -> None:
    consumer = member(bus)
    consumer.poll()
    child = os.fork()
    if child == 0:
        try:
            consumer.commit(6)
        except ConsumerFenced:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert bus.committed("workers", "a") == 0
    consumer.commit(6)
