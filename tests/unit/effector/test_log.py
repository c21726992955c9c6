"""What the engine owes the log: commits, rebalances, and a log that fails."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from beam_agents.effector.backends.memory_log import MemorySource, MemoryTopic
from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.config import EffectorOptions
from beam_agents.effector.ports import Clock
from beam_agents.effector.service import EffectorService
from beam_agents.effector.testing.quiet import let_callbacks_run
from beam_agents.effector.testing.stepped_clock import SteppedClock
from tests.unit.effector.requests import Gate, request


class ClockThatIsOff:
    """Tells another time of day than the clock behind it."""

    def __init__(self, clock: SteppedClock, *, by_ms: int) -> None:
        self._clock = clock
        self._by_ms = by_ms
        self.monotonic_ms = clock.monotonic_ms
        self.sleep = clock.sleep

    def now_ms(self) -> int:
        return self._clock.now_ms() + self._by_ms


class Group:
    """Workers of one consumer group, on one store."""

    def __init__(self, partitions: int = 2) -> None:
        self.clock = SteppedClock()
        self.store = MemoryStore(clock=self.clock)
        self.intents = MemoryTopic("intents", partitions=partitions, clock=self.clock)
        self.results = MemoryTopic("results", clock=self.clock)

    async def join(
        self, gate: Gate, source: MemorySource | None = None, *, clock: Clock | None = None
    ) -> EffectorService:
        service = EffectorService(
            registry=gate.registry,
            source=source or self.intents.source(),
            results=self.results.sink(),
            store=self.store,
            options=EffectorOptions(commit_interval_ms=0),
            clock=clock or self.clock,
        )
        self.last = asyncio.ensure_future(service.run())
        await let_callbacks_run()
        return service

    async def send(self, partition: int, *, key: bytes, seq: int = 0) -> None:
        value = request(args={"n": partition}, key=key, seq=seq).SerializeToString()
        self.intents.append(key=key, value=value, partition=partition)
        await let_callbacks_run()

    async def pass_ms(self, ms: int) -> None:
        until_ms = self.clock.now_ms() + ms
        while (wake_ms := self.clock.next_wake_ms) is not None and wake_ms <= until_ms:
            self.clock.step(wake_ms)
            await let_callbacks_run()
        self.clock.step(until_ms)


async def end(*services: EffectorService) -> None:
    for service in services:
        service.stop()
        service.stop()
    await let_callbacks_run()


async def test_waiting_records_of_a_lost_partition_are_left_to_its_new_owner() -> None:
    group, first_gate, second_gate = Group(), Gate(), Gate()
    first = await group.join(first_gate)
    await group.send(1, key=b"A")
    await group.send(1, key=b"A", seq=1)
    assert first_gate.entered == [1]
    second = await group.join(second_gate)  # takes partition 1
    second_gate.open()
    first_gate.open()
    await group.pass_ms(3_000)
    assert first_gate.left == [1]  # what ran, ran on; what waited, did not start here
    assert second_gate.left == [1]
    await end(first, second)


async def test_the_new_owner_waits_for_a_tool_that_still_runs_elsewhere() -> None:
    group, first_gate, second_gate = Group(), Gate(), Gate()
    first = await group.join(first_gate)
    await group.send(1, key=b"A")
    second = await group.join(second_gate)
    await group.pass_ms(10_000)
    assert second_gate.entered == []
    first_gate.open()
    await group.pass_ms(3_000)
    assert second_gate.entered == []
    assert group.intents.committed(1) == 1
    values = {record.value for record in group.results.partitions[0]}
    assert len(values) == 1
    await end(first, second)


@pytest.mark.parametrize("by_ms", [-600_000, 600_000])
async def test_a_new_owner_whose_clock_is_ten_minutes_off_waits_as_well(by_ms: int) -> None:
    group, first_gate, second_gate = Group(), Gate(), Gate()
    first = await group.join(first_gate)
    await group.send(1, key=b"A")
    second = await group.join(second_gate, clock=ClockThatIsOff(group.clock, by_ms=by_ms))
    await group.pass_ms(120_000)
    assert (first_gate.entered, second_gate.entered) == ([1], [])
    first_gate.open()
    await group.pass_ms(3_000)
    assert second_gate.entered == []
    assert len({record.value for record in group.results.partitions[0]}) == 1
    await end(first, second)


async def test_a_record_that_finishes_after_its_partition_was_lost_moves_no_offset(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    group, first_gate, second_gate = Group(), Gate(), Gate()
    first = await group.join(first_gate)
    await group.send(1, key=b"A")
    second = await group.join(second_gate)
    await end(second)
    await group.last
    await group.send(1, key=b"B")
    assert group.intents.committed(1) == 0
    first_gate.open()
    await let_callbacks_run()
    assert "intents/1/0 ended after its partition was lost: not committed" in caplog.text
    assert group.intents.committed(1) == 2
    await end(first)


async def test_a_log_that_cannot_commit_is_asked_again() -> None:
    class Failing(MemorySource):
        failures = 3

        async def commit(self) -> None:
            if Failing.failures:
                Failing.failures -= 1
                raise ConnectionError("no coordinator")
            await super().commit()

    group, gate = Group(), Gate()
    gate.open()
    service = await group.join(gate, Failing(group.intents, "beam-agents-effector"))
    await group.send(0, key=b"A")
    assert group.intents.committed(0) == 0
    await group.pass_ms(3_000)
    assert group.intents.committed(0) == 1
    await end(service)


async def test_a_log_that_cannot_be_read_is_asked_again() -> None:
    class Failing(MemorySource):
        failures = 3

        async def fetch(self) -> Any:
            if Failing.failures:
                Failing.failures -= 1
                raise ConnectionError("no leader")
            return await super().fetch()

    group, gate = Group(), Gate()
    gate.open()
    service = await group.join(gate, Failing(group.intents, "beam-agents-effector"))
    await group.send(0, key=b"A")
    assert gate.left == []
    await group.pass_ms(3_000)
    assert gate.left == [0]
    await end(service)


async def test_finished_records_are_committed_in_batches() -> None:
    class Counting(MemorySource):
        commits = 0

        async def commit(self) -> None:
            Counting.commits += 1
            await super().commit()

    group, gate = Group(), Gate()
    gate.open()
    for n in range(100):
        group.intents.append(
            key=b"k", value=request(key=b"%d" % n).SerializeToString(), partition=0
        )
    service = await group.join(gate, Counting(group.intents, "beam-agents-effector"))
    assert group.intents.committed(0) == 100
    assert Counting.commits < 10
    await end(service)
