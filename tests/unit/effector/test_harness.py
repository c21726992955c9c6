"""The kit itself: what `settle`, `advance`, `crash_at` and a second worker mean."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from beam_agents.effector.backends.sqlite_store import SqliteStore
from beam_agents.effector.phase import Phase
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.intents import Status
from beam_agents.tools import ToolRegistry, tool
from tests.unit.effector.requests import NOW_MS, Gate, request


@pytest.fixture
def gate() -> Gate:
    gate = Gate()
    gate.open()
    return gate


async def test_it_starts_at_a_fixed_time_and_moves_only_when_told(gate: Gate) -> None:
    async with EffectorHarness(gate.registry) as effector:
        assert effector.now_ms == NOW_MS
        await effector.deliver(request())
        await effector.settle()
        assert effector.now_ms == NOW_MS
        await effector.advance(1_234)
        assert effector.now_ms == NOW_MS + 1_234


async def test_settling_waits_for_threads_that_compute() -> None:
    @tool(side_effect=True)
    def charge() -> int:
        return sum(range(3_000_000))

    async with EffectorHarness(ToolRegistry(charge)) as effector:
        await effector.deliver(request())
        await effector.settle()
        assert [result.status for result in effector.results] == [Status.OK]


async def test_settling_waits_for_what_a_tool_has_others_do() -> None:
    @tool(side_effect=True)
    async def charge() -> str:
        for _ in range(100):
            await asyncio.sleep(0)
        return await asyncio.to_thread(lambda: "from a thread")

    async with EffectorHarness(ToolRegistry(charge)) as effector:
        await effector.deliver(request())
        await effector.settle()
        assert [result.payload for result in effector.results] == [b'"from a thread"']


@pytest.fixture
def never() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def test_settling_does_not_wait_for_what_only_time_or_the_test_would_end(
    never: threading.Event,
) -> None:
    @tool(side_effect=True)
    async def hang() -> None:
        await asyncio.sleep(3_600)

    @tool(side_effect=True)
    def block() -> None:
        never.wait()

    async with EffectorHarness(ToolRegistry(hang, block), shutdown_grace_ms=0) as effector:
        await effector.deliver(request("hang"))
        await effector.deliver(request("block", key=b"other"))
        await effector.settle()
        assert effector.results == []
        assert effector.calls("hang") == effector.calls("block") == 1


async def test_advancing_goes_through_everything_that_is_due_on_the_way() -> None:
    gate = Gate()
    async with EffectorHarness(gate.registry, tool_timeout_ms=5_000) as effector:
        await effector.deliver(request())
        await effector.deliver(request(seq=1))
        await effector.advance(11_000)
        assert [result.completed_at_ms - NOW_MS for result in effector.results] == [5_000, 10_000]


async def test_a_killed_worker_reaches_nothing_any_more() -> None:
    gate = Gate()
    async with EffectorHarness(gate.registry) as effector:
        await effector.deliver(request())
        await effector.settle()
        await effector.kill()
        assert not effector.alive
        gate.open()
        await effector.advance(60_000)
        assert (effector.results, effector.committed()) == ([], 0)


async def test_a_crash_is_where_it_was_asked_for_and_happens_once(gate: Gate) -> None:
    async with EffectorHarness(gate.registry) as effector:
        effector.crash_at(Phase.PUBLISH)
        await effector.deliver(request())
        await effector.settle()
        assert (effector.alive, effector.calls("charge"), effector.results) == (False, 1, [])
        await effector.restart()
        assert [result.attempt for result in effector.results] == [1]
        assert effector.calls("charge") == 1


async def test_a_second_worker_shares_the_store_and_handles_what_is_delivered_to_it(
    gate: Gate,
) -> None:
    async with EffectorHarness(gate.registry) as first, first.second_worker() as second:
        await first.deliver(request())
        await second.deliver(request())
        await second.deliver(request(seq=1))
        await first.advance(3_000)
        assert first.calls("charge") == second.calls("charge") == 2
        assert first.results == second.results
        assert (first.committed(), second.committed()) == (1, 2)


async def test_a_second_worker_may_have_settings_of_its_own(gate: Gate) -> None:
    async with (
        EffectorHarness(gate.registry) as first,
        first.second_worker(refuse_tools=["charge"]) as second,
    ):
        await second.deliver(request())
        await second.settle()
        assert [result.status for result in second.results] == [Status.REJECTED]


async def test_a_setting_that_does_not_exist_is_named(gate: Gate) -> None:
    with pytest.raises(TypeError, match="'leese_ms'"):
        EffectorHarness(gate.registry, leese_ms=1)


async def test_any_store_will_do_that_goes_by_the_same_time(gate: Gate, tmp_path: Path) -> None:
    clock = SteppedClock()
    store = SqliteStore(tmp_path / "dedup.db", clock=clock)
    async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
        for _ in range(2):
            await effector.deliver(request())
        await effector.settle()
        assert [result.status for result in effector.results] == [Status.OK] * 2
        assert effector.calls("charge") == 1


async def test_a_worker_that_fails_by_itself_is_no_silent_death(gate: Gate) -> None:
    class Broken(ToolRegistry):
        def get(self, name: str) -> NoReturn:
            raise AssertionError("a bug")

    effector = EffectorHarness(Broken())
    await effector.__aenter__()
    await effector.deliver(request())
    with pytest.raises(AssertionError, match="a bug"):
        await effector.settle()
