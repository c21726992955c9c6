"""A dedup file that is taken away under a running effector, and put back."""

from __future__ import annotations

from pathlib import Path

import pytest

from beam_agents.effector.backends.sqlite_store import SqliteStore
from beam_agents.effector.errors import EffectorError
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.intents import Status
from tests.unit.effector.requests import LEASE_MS, Gate, request


class Disk:
    """A dedup file, and a tool that runs until its gate opens."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "dedup.db"
        self.away = folder / "away.db"
        self.gate = Gate()

    def worker(self) -> EffectorHarness:
        clock = SteppedClock()
        store = SqliteStore(self.path, clock=clock)
        return EffectorHarness(self.gate.registry, store=store, clock=clock)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


async def test_without_its_file_nothing_is_executed_and_with_it_work_goes_on(disk: Disk) -> None:
    disk.gate.open()
    async with disk.worker() as effector:
        disk.path.rename(disk.away)
        await effector.deliver(request())
        await effector.advance(LEASE_MS)
        assert (effector.calls("charge"), effector.results) == (0, [])

        disk.away.rename(disk.path)
        await effector.advance(LEASE_MS)

        assert [result.status for result in effector.results] == [Status.OK]


async def test_a_tool_is_stopped_before_its_lease_ends_while_the_file_is_away(disk: Disk) -> None:
    async with disk.worker() as effector:
        await effector.deliver(request())
        await effector.settle()
        disk.path.rename(disk.away)

        await effector.advance(LEASE_MS)

        assert (disk.gate.entered, disk.gate.cancelled) == ([0], 1)
        assert (effector.results, effector.committed()) == ([], 0)


async def test_a_result_waits_for_the_file_that_its_claim_is_in(disk: Disk) -> None:
    async with disk.worker() as effector:
        await effector.deliver(request())
        await effector.settle()
        disk.path.rename(disk.away)
        disk.gate.open()
        await effector.settle()
        assert effector.results == []

        disk.away.rename(disk.path)
        await effector.advance(5_000)

        assert [(result.status, result.attempt) for result in effector.results] == [(Status.OK, 1)]


async def test_a_worker_whose_file_was_replaced_stops_and_says_so(disk: Disk) -> None:
    worker = await disk.worker().__aenter__()
    empty = SqliteStore(disk.away)
    await empty.open()
    await empty.aclose()
    disk.away.rename(disk.path)

    await worker.deliver(request())
    with pytest.raises(EffectorError, match="another file lies where the one was"):
        await worker.settle()

    assert (worker.alive, worker.calls("charge")) == (False, 0)
