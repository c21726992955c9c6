"""A stop hands back what was not started, lets what runs end, and leaves the rest to its lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from beam_agents.effector.backends.memory_log import MemoryTopic
from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.config import EffectorOptions
from beam_agents.effector.ports import DedupRecord
from beam_agents.effector.service import EffectorService
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.effector.testing.quiet import let_callbacks_run
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.intents import Status
from beam_agents.tools import ToolRegistry, tool
from tests.unit.effector.flaky_store import FlakyStore
from tests.unit.effector.requests import Gate, request


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def store(clock: SteppedClock) -> FlakyStore:
    return FlakyStore(clock=clock)


async def record(store: MemoryStore) -> DedupRecord:
    found = await store.lookup(request().intent_id)
    assert found is not None
    return found


async def test_a_running_tool_may_end_within_the_grace(
    store: FlakyStore, clock: SteppedClock
) -> None:
    gate = Gate()
    async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
        await effector.deliver(request())
        await effector.deliver(request(seq=1))
        await effector.settle()
        effector.begin_stop()
        await effector.advance(10_000)
        gate.open()
        await effector.stop()
        assert [(result.seq, result.status) for result in effector.results] == [(0, Status.OK)]
        assert effector.committed() == 1
        assert gate.entered == [0]


async def test_a_tool_that_outlasts_the_grace_is_left_to_its_lease(
    store: FlakyStore, clock: SteppedClock
) -> None:
    gate = Gate()
    async with EffectorHarness(
        gate.registry, store=store, clock=clock, shutdown_grace_ms=5_000
    ) as effector:
        await effector.deliver(request())
        await effector.settle()
        await effector.stop()
        assert clock.now_ms() == 1_700_000_005_000
        assert gate.cancelled == 1
        assert effector.results == []
        assert (await record(store)).token != ""
        assert "release" not in store.calls


async def test_without_a_grace_tools_are_cancelled_at_once(
    store: FlakyStore, clock: SteppedClock
) -> None:
    gate = Gate()
    async with EffectorHarness(
        gate.registry, store=store, clock=clock, shutdown_grace_ms=0
    ) as effector:
        await effector.deliver(request())
        await effector.settle()
        await effector.stop()
        assert clock.now_ms() == 1_700_000_000_000
        assert gate.cancelled == 1


@pytest.mark.parametrize("grace_ms", [0, 25_000])
async def test_a_claim_whose_tool_was_not_called_is_handed_back_at_once(
    store: FlakyStore, clock: SteppedClock, grace_ms: int
) -> None:
    release = asyncio.Event()

    class Slow(FlakyStore):
        async def claim(self, *args: Any, **kwargs: Any) -> Any:
            answer = await super().claim(*args, **kwargs)
            await release.wait()
            return answer

    slow = Slow(clock=clock)
    gate = Gate()
    async with EffectorHarness(
        gate.registry,
        store=slow,
        clock=clock,
        shutdown_grace_ms=grace_ms,
    ) as effector:
        await effector.deliver(request())
        await effector.settle()
        effector.begin_stop()
        await effector.settle()
        release.set()
        await effector.stop()
        assert gate.entered == []
        assert (await record(slow)).token == ""
        assert slow.calls == ["claim", "release"]


async def test_leases_are_renewed_until_the_last_tool_has_ended(
    store: FlakyStore, clock: SteppedClock
) -> None:
    gate = Gate(timeout_ms=200_000)
    async with EffectorHarness(
        gate.registry, store=store, clock=clock, lease_ms=30_000, shutdown_grace_ms=100_000
    ) as effector:
        await effector.deliver(request())
        await effector.settle()
        await effector.stop()
        assert store.calls.count("renew") == 10


async def test_what_was_not_finished_is_done_by_the_next_worker() -> None:
    gate = Gate()
    async with EffectorHarness(gate.registry, shutdown_grace_ms=0) as effector:
        for n in range(3):
            await effector.deliver(request(args={"n": n}, seq=n))
        await effector.settle()
        gate.open()
        await effector.restart()
        await effector.advance(32_000)
        assert [result.seq for result in effector.results] == [0, 1, 2]
        assert effector.committed() == 3


async def test_the_lifespan_of_the_tools_is_left_after_the_last_tool() -> None:
    events = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        events.append("entered")
        yield
        events.append("left")

    @tool(side_effect=True)
    async def charge() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            events.append("tool ended")

    registry = ToolRegistry(charge, lifespan=lifespan)
    async with EffectorHarness(registry, shutdown_grace_ms=0) as effector:
        assert events == ["entered"]
        await effector.deliver(request())
        await effector.settle()
    assert events == ["entered", "tool ended", "left"]


class TestTheService:
    """What the harness hides: signals, and failures."""

    def service(self, gate: Gate, clock: SteppedClock, store: MemoryStore) -> EffectorService:
        self.intents = MemoryTopic("intents", clock=clock)
        self.results = MemoryTopic("results", clock=clock)
        return EffectorService(
            registry=gate.registry,
            source=self.intents.source(),
            results=self.results.sink(),
            store=store,
            options=EffectorOptions(commit_interval_ms=0),
            clock=clock,
        )

    async def test_a_second_stop_ends_it_now(self, clock: SteppedClock, store: FlakyStore) -> None:
        gate = Gate()
        service = self.service(gate, clock, store)
        self.intents.append(key=b"acct-1", value=request().SerializeToString())
        running = asyncio.ensure_future(service.run())
        await let_callbacks_run()
        assert gate.entered == [0]
        service.stop()
        await let_callbacks_run()
        assert not running.done()
        service.stop()
        await running
        assert gate.cancelled == 1
        assert clock.now_ms() == 1_700_000_000_000

    async def test_a_stop_before_the_start_ends_it_as_well(
        self, clock: SteppedClock, store: FlakyStore
    ) -> None:
        service = self.service(Gate(), clock, store)
        service.stop()
        await service.run()

    async def test_a_part_that_breaks_takes_the_service_down_loudly(
        self, clock: SteppedClock
    ) -> None:
        class Broken(FlakyStore):
            async def claim(self, *args: Any, **kwargs: Any) -> Any:
                raise AssertionError("a bug")

        service = self.service(Gate(), clock, Broken(clock=clock))
        self.intents.append(key=b"acct-1", value=request().SerializeToString())
        with pytest.raises(AssertionError, match="a bug"):
            await service.run()

    async def test_a_lifespan_that_fails_takes_it_down_before_anything_is_fetched(
        self, clock: SteppedClock, store: FlakyStore
    ) -> None:
        @asynccontextmanager
        async def lifespan() -> AsyncIterator[None]:
            raise OSError("no database")
            yield

        gate = Gate()
        gate.registry = ToolRegistry(lifespan=lifespan)
        service = self.service(gate, clock, store)
        self.intents.append(key=b"acct-1", value=request().SerializeToString())
        with pytest.raises(OSError, match="no database"):
            await service.run()
        assert self.intents.committed(0) == 0
