"""The effectively-once gate: a worker is killed before and after every phase, and replaced."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.effector.phase import Phase
from beam_agents.effector.testing.harness import EffectorHarness
from tests.semantics.effects import Ledger, copies, refund_intent, without_repeats

KEYS = [b"acct-1", b"acct-2", b"acct-3"]
PER_KEY = 3
LEASE_MS = 30_000

BOUNDARIES = [
    pytest.param(phase, before, id=f"{'before' if before else 'after'}-{phase.value}")
    for phase in Phase
    for before in (True, False)
]


def stream() -> list[ToolIntent]:
    return [refund_intent(key, seq) for seq in range(PER_KEY) for key in KEYS]


async def survive(effector: EffectorHarness, phase: Phase, *, before: bool) -> None:
    """Handle the stream with one kill for every intent of it, then to its end."""
    for intent in stream():
        await effector.deliver(intent)
    for _ in stream():
        effector.crash_at(phase, before=before)
        await effector.settle()
        await effector.restart()
        await effector.advance(LEASE_MS)
    await effector.settle()


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
async def effector(ledger: Ledger) -> AsyncIterator[EffectorHarness]:
    async with EffectorHarness(ledger.registry(), lease_ms=LEASE_MS) as harness:
        yield harness


@pytest.mark.parametrize(("phase", "before"), BOUNDARIES)
class TestKilledAtEveryBoundary:
    async def test_no_intent_is_lost(
        self, effector: EffectorHarness, phase: Phase, before: bool
    ) -> None:
        await survive(effector, phase, before=before)
        assert copies(effector).keys() == {intent.intent_id for intent in stream()}
        assert effector.committed() == len(stream())

    async def test_each_intent_has_one_agreed_result_in_identical_copies(
        self, effector: EffectorHarness, phase: Phase, before: bool
    ) -> None:
        await survive(effector, phase, before=before)
        assert [len(each) for each in copies(effector).values()] == [1] * len(stream())
        assert all(result.status == ToolResult.OK for result in effector.results)

    async def test_a_keyed_tool_has_its_effect_once(
        self, effector: EffectorHarness, ledger: Ledger, phase: Phase, before: bool
    ) -> None:
        await survive(effector, phase, before=before)
        assert ledger.effects == {intent.intent_id: 1 for intent in stream()}

    async def test_intents_of_a_key_run_in_order(
        self, effector: EffectorHarness, ledger: Ledger, phase: Phase, before: bool
    ) -> None:
        await survive(effector, phase, before=before)
        assert {key: without_repeats(seqs) for key, seqs in ledger.asked.items()} == {
            key: list(range(PER_KEY)) for key in KEYS
        }
