"""The effectively-once gate: workers are killed before and after every phase, and replaced."""

from __future__ import annotations

import pytest

from beam_agents._protos import ToolIntent
from beam_agents.effector.phase import Phase
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.intents import Status
from tests.semantics.ledger import KEYS, LEASE_MS, Ledger, copies, stream

BOUNDARIES = [
    pytest.param(phase, before, id=f"{'before' if before else 'after'}-{phase.value}")
    for phase in Phase
    for before in (True, False)
]


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


async def kill_and_replace(effector: EffectorHarness, phase: Phase, *, before: bool) -> int:
    """Kill one worker after the other at a boundary, then let one finish; count the kills."""
    kills = 0
    for _ in range(4 * len(stream())):
        effector.crash_at(phase, before=before)
        if not effector.alive:
            await effector.restart()
        if effector.alive:
            await effector.advance(LEASE_MS)
        kills += not effector.alive
    await effector.restart()
    await effector.advance(len(stream()) * (LEASE_MS + 2_000))
    return kills


@pytest.mark.parametrize(("phase", "before"), BOUNDARIES)
class TestAWorkerKilledAtEveryBoundary:
    async def test_nothing_is_lost_and_each_intent_has_one_agreed_result(
        self, ledger: Ledger, phase: Phase, before: bool
    ) -> None:
        async with EffectorHarness(ledger.registry, lease_ms=LEASE_MS) as effector:
            await deliver(effector, stream())
            kills = await kill_and_replace(effector, phase, before=before)
            assert kills > 0
            assert copies(effector).keys() == {intent.intent_id for intent in stream()}
            assert {len(each) for each in copies(effector).values()} == {1}
            assert {result.status for result in effector.results} == {Status.OK}
            assert effector.committed() == len(stream())

    async def test_a_keyed_tool_has_its_effect_once(
        self, ledger: Ledger, phase: Phase, before: bool
    ) -> None:
        async with EffectorHarness(ledger.registry, lease_ms=LEASE_MS) as effector:
            await deliver(effector, stream())
            await kill_and_replace(effector, phase, before=before)
        assert ledger.effects == {intent.intent_id: 1 for intent in stream()}

    async def test_tools_of_a_key_start_in_order(
        self, ledger: Ledger, phase: Phase, before: bool
    ) -> None:
        async with EffectorHarness(ledger.registry, lease_ms=LEASE_MS) as effector:
            await deliver(effector, stream())
            await kill_and_replace(effector, phase, before=before)
        for key in KEYS:
            assert ledger.asked[key] == sorted(ledger.asked[key])

    async def test_an_expired_intent_has_one_agreed_refusal(
        self, ledger: Ledger, phase: Phase, before: bool
    ) -> None:
        expired = stream(ttl_ms=0)
        async with EffectorHarness(ledger.registry, lease_ms=LEASE_MS) as effector:
            await deliver(effector, expired)
            await kill_and_replace(effector, phase, before=before)
            assert {len(each) for each in copies(effector).values()} == {1}
            assert {result.status for result in effector.results} == {Status.EXPIRED}
            assert effector.committed() == len(expired)
        assert not ledger.effects


@pytest.mark.parametrize(
    ("phase", "before", "again"),
    [
        (Phase.EXECUTE, True, False),
        (Phase.EXECUTE, False, True),
        (Phase.COMPLETE, True, True),
        (Phase.COMPLETE, False, False),
        (Phase.PUBLISH, True, False),
        (Phase.PUBLISH, False, False),
        (Phase.COMMIT, True, False),
    ],
)
async def test_a_tool_is_called_again_only_if_the_worker_died_between_call_and_record(
    ledger: Ledger, phase: Phase, before: bool, again: bool
) -> None:
    async with EffectorHarness(ledger.registry, lease_ms=LEASE_MS) as effector:
        await deliver(effector, stream()[:1])
        effector.crash_at(phase, before=before)
        await effector.settle()
        assert not effector.alive
        await effector.restart()
        await effector.advance(LEASE_MS + 2_000)
        assert effector.calls("refund") == (2 if again else 1)


@pytest.mark.parametrize(("phase", "before"), BOUNDARIES)
async def test_another_worker_takes_over_from_one_that_is_not_replaced(
    ledger: Ledger, phase: Phase, before: bool
) -> None:
    async with EffectorHarness(ledger.registry, lease_ms=LEASE_MS) as first:
        await deliver(first, stream())
        async with first.second_worker() as second:
            first.crash_at(phase, before=before)
            await first.settle()
            await deliver(second, stream())
            await second.advance(len(stream()) * LEASE_MS)
            assert copies(second).keys() == {intent.intent_id for intent in stream()}
            assert {len(each) for each in copies(second).values()} == {1}
            assert second.committed() == len(stream())
    assert ledger.effects == {intent.intent_id: 1 for intent in stream()}


@pytest.mark.parametrize("port", ["store", "results", "intents"])
async def test_a_kill_during_an_outage_loses_nothing(ledger: Ledger, port: str) -> None:
    async with EffectorHarness(ledger.registry, lease_ms=LEASE_MS) as effector:
        with effector.outage(port):
            await deliver(effector, stream())
            await effector.advance(10_000)
            assert effector.committed() == 0
            await effector.kill()
        await effector.restart()
        await effector.advance(LEASE_MS + 2_000)
        assert {len(each) for each in copies(effector).values()} == {1}
        assert effector.committed() == len(stream())
    assert ledger.effects == {intent.intent_id: 1 for intent in stream()}


async def test_a_replay_of_the_whole_log_performs_nothing_again(ledger: Ledger) -> None:
    async with EffectorHarness(ledger.registry) as effector:
        for _ in range(3):
            await deliver(effector, stream())
            await effector.settle()
        assert effector.calls("refund") == len(stream())
        assert {len(each) for each in copies(effector).values()} == {1}
        assert len(effector.results) == 3 * len(stream())


async def deliver(effector: EffectorHarness, intents: list[ToolIntent]) -> None:
    for intent in intents:
        await effector.deliver(intent)
