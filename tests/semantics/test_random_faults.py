"""Two workers with the same intents, and faults in an order that a seed decides."""

from __future__ import annotations

import random
from contextlib import ExitStack

import pytest

from beam_agents.effector.phase import Phase
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.intents import Status
from tests.semantics.ledger import KEYS, LEASE_MS, Ledger, copies, stream

PORTS = ("store", "results", "intents")
STEPS = 40


class Chaos:
    """Does one harmful or helpful thing after the other.

    Args:
        seed: Decides which.
        workers: To whom.
    """

    def __init__(self, seed: int, workers: list[EffectorHarness]) -> None:
        self._random = random.Random(seed)  # noqa: S311 - it has to be repeatable
        self._workers = workers
        self._outages = ExitStack()
        self._undelivered = [[*stream()] for _ in workers]

    async def run(self) -> None:
        """Do `STEPS` things, and then let everything come to its end."""
        for _ in range(STEPS):
            await self._step(self._random.randrange(len(self._workers)))
        self._outages.close()
        for index, worker in enumerate(self._workers):
            while self._undelivered[index]:
                await self._deliver(index)
            await worker.restart()
        for _ in range(3):  # a crash that was asked for may still come
            await self._workers[0].advance(2 * len(stream()) * LEASE_MS)
            for worker in self._workers:
                if not worker.alive:
                    await worker.restart()

    async def _step(self, index: int) -> None:
        worker = self._workers[index]
        action = self._random.choice([self._deliver, self._deliver, self._crash, self._outage])
        await action(index)
        if not worker.alive and self._random.random() < 0.5:
            await worker.restart()
        await worker.advance(self._random.choice([0, 100, 1_000, LEASE_MS // 3, LEASE_MS]))

    async def _deliver(self, index: int) -> None:
        delivered = stream()[: len(stream()) - len(self._undelivered[index])]
        if delivered and self._random.random() < 0.2:
            await self._workers[index].deliver(self._random.choice(delivered))
        elif self._undelivered[index]:
            await self._workers[index].deliver(self._undelivered[index].pop(0))

    async def _crash(self, index: int) -> None:
        phase, before = self._random.choice(list(Phase)), self._random.random() < 0.5
        self._workers[index].crash_at(phase, before=before)

    async def _outage(self, index: int) -> None:
        self._outages.close()
        if self._random.random() < 0.7:
            self._outages.enter_context(self._workers[index].outage(self._random.choice(PORTS)))


@pytest.mark.parametrize("seed", range(25))
async def test_every_intent_has_one_agreed_result_and_one_effect(seed: int) -> None:
    clock = SteppedClock()
    times = random.Random(seed)  # noqa: S311 - it has to be repeatable

    async def pause() -> None:
        await clock.sleep(times.choice([0, 0, 500, LEASE_MS // 2, 2 * LEASE_MS]))

    ledger = Ledger(pause)
    async with (
        EffectorHarness(
            ledger.registry, clock=clock, lease_ms=LEASE_MS, tool_timeout_ms=10 * LEASE_MS
        ) as first,
        first.second_worker() as second,
    ):
        await Chaos(seed, [first, second]).run()
        ids = {intent.intent_id for intent in stream()}
        assert copies(first).keys() == ids
        assert {len(each) for each in copies(first).values()} == {1}
        assert {result.status for result in first.results} == {Status.OK}
        for worker in (first, second):
            assert worker.committed() == worker.delivered()
    assert ledger.effects == dict.fromkeys(ids, 1)
    assert ledger.overlapped == set()
    for key in KEYS:
        started = list(dict.fromkeys(ledger.asked[key]))
        assert started == sorted(started)
