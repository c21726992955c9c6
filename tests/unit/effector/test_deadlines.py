"""Nothing starts after its deadline, and the refusal is one agreed answer."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

import pytest

from beam_agents.effector.phase import Phase
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.intents import Outcome, Status
from tests.unit.effector.flaky_store import FlakyStore
from tests.unit.effector.requests import LEASE_MS, NOW_MS, Gate, request

DAY_MS = 86_400_000


@pytest.fixture
def gate() -> Gate:
    gate = Gate()
    gate.open()
    return gate


def flaky() -> tuple[FlakyStore, SteppedClock]:
    clock = SteppedClock()
    return FlakyStore(clock=clock), clock


@pytest.mark.parametrize("expires_at_ms", [NOW_MS, NOW_MS - 1, 0, -1, -(2**63)])
async def test_a_deadline_that_is_past_zero_or_negative_is_refused(
    gate: Gate, expires_at_ms: int
) -> None:
    intent = request()
    intent.expires_at_ms = expires_at_ms
    async with EffectorHarness(gate.registry) as effector:
        await effector.deliver(intent)
        await effector.settle()
        (result,) = effector.results
        assert result.status == Status.EXPIRED
        assert (result.attempt, result.started_at_ms) == (0, 0)
        assert result.completed_at_ms == expires_at_ms
        assert effector.calls("charge") == 0
        assert effector.committed() == 1


async def test_an_intent_that_was_never_claimed_is_refused_as_not_applied(gate: Gate) -> None:
    async with EffectorHarness(gate.registry) as effector:
        await effector.deliver(request(ttl_ms=-1))
        await effector.settle()
        assert [result.outcome for result in effector.results] == [Outcome.NOT_APPLIED]


async def test_an_intent_whose_record_may_have_ended_is_refused_as_unknown(gate: Gate) -> None:
    async with EffectorHarness(gate.registry) as effector:
        await effector.deliver(request(ttl_ms=-600_000))
        await effector.settle()
        assert [result.outcome for result in effector.results] == [Outcome.UNKNOWN]


async def test_an_intent_that_an_earlier_attempt_may_have_run_is_refused_as_unknown(
    gate: Gate,
) -> None:
    async with EffectorHarness(gate.registry) as effector:
        await effector.deliver(request(ttl_ms=LEASE_MS))
        effector.crash_at(Phase.EXECUTE, before=False)
        await effector.settle()
        await effector.restart()
        await effector.advance(LEASE_MS)
        (result,) = effector.results
        assert (result.status, result.outcome) == (Status.EXPIRED, Outcome.UNKNOWN)
        assert effector.calls("charge") == 1


async def test_copies_of_a_refusal_are_identical(gate: Gate) -> None:
    async with EffectorHarness(gate.registry) as effector:
        for _ in range(2):
            await effector.deliver(request(ttl_ms=-1))
            await effector.advance(60_000)
        first, second = effector.result_records
        assert first.value == second.value


async def test_a_result_that_is_stored_goes_before_a_refusal(gate: Gate) -> None:
    async with EffectorHarness(gate.registry) as effector:
        await effector.deliver(request(ttl_ms=1_000))
        await effector.advance(1_000)
        await effector.deliver(request(ttl_ms=1_000))
        await effector.settle()
        first, second = effector.result_records
        assert first.value == second.value
        assert effector.results[1].status == Status.OK


async def test_a_worker_that_runs_the_tool_is_waited_for_beyond_the_deadline() -> None:
    gate = Gate()
    async with EffectorHarness(gate.registry) as effector:
        await effector.deliver(request(ttl_ms=1_000))
        await effector.settle()
        async with effector.second_worker() as second:
            await second.deliver(request(ttl_ms=1_000))
            await second.advance(5_000)
            assert (second.results, second.committed()) == ([], 0)
            gate.open()
            await second.advance(2_000)
            assert [result.status for result in second.results] == [Status.OK] * 2
            assert second.committed() == 1


async def test_the_deadline_is_checked_again_after_waiting_for_the_lane() -> None:
    gate = Gate()
    async with EffectorHarness(gate.registry) as effector:
        await effector.deliver(request())
        await effector.deliver(request(seq=1, ttl_ms=5_000))
        await effector.advance(5_000)
        gate.open()
        await effector.settle()
        assert [result.status for result in effector.results] == [Status.OK, Status.EXPIRED]
        assert gate.entered == [0]


async def test_the_deadline_ends_the_wait_for_a_permit() -> None:
    gate = Gate(max_concurrency=1)
    async with EffectorHarness(gate.registry) as effector:
        await effector.deliver(request(key=b"A"))
        await effector.deliver(request(key=b"B", ttl_ms=5_000))
        await effector.advance(5_000)
        (result,) = effector.results
        assert (result.entity_key, result.status) == (b"B", Status.EXPIRED)


async def test_a_deadline_that_passes_between_claim_and_tool_is_refused_under_the_claim() -> None:
    gate = Gate(on_crash="fail")
    store, clock = flaky()
    store.silent = frozenset({"mark_invoked"})
    async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
        await effector.deliver(request(ttl_ms=1_000))
        await effector.advance(900)
        claimed_until = store.claims[-1]
        store.silent = frozenset()
        await effector.advance(40_000)
        (result,) = effector.results
        assert claimed_until
        assert result.status == Status.EXPIRED
        assert effector.calls("charge") == 0


@pytest.mark.parametrize(
    ("days", "status"), [(31, Status.OK), (31.001, Status.REJECTED), (400, Status.REJECTED)]
)
async def test_a_deadline_further_away_than_31_days_is_rejected(
    gate: Gate, days: float, status: Status
) -> None:
    async with EffectorHarness(gate.registry) as effector:
        await effector.deliver(request(ttl_ms=int(days * DAY_MS)))
        await effector.settle()
        assert [result.status for result in effector.results] == [status]


async def test_a_distant_intent_cannot_run_once_its_deadline_is_near(gate: Gate) -> None:
    async with EffectorHarness(gate.registry) as effector:
        intent = request(ttl_ms=40 * DAY_MS)
        await effector.deliver(intent)
        await effector.advance(35 * DAY_MS)
        await effector.deliver(intent)
        await effector.settle()
        first, second = effector.result_records
        assert first.value == second.value
        assert effector.calls("charge") == 0


class TestASilentStore:
    async def test_a_deadline_does_not_fail_open(self, gate: Gate) -> None:
        store, clock = flaky()
        store.silent = frozenset({"claim"})
        async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
            await effector.deliver(request(ttl_ms=5_000))
            await effector.advance(5_000)
            store.silent = frozenset()
            await effector.advance(5_000)
            assert [result.status for result in effector.results] == [Status.EXPIRED]
            assert effector.calls("charge") == 0

    async def test_the_refusal_is_published_at_once_but_holds_lane_and_commit(
        self, gate: Gate
    ) -> None:
        store, clock = flaky()
        store.silent = frozenset({"record_refusal"})
        async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
            await effector.deliver(request(ttl_ms=-1))
            await effector.deliver(request(seq=1))
            await effector.advance(60_000)
            (result,) = effector.results
            assert (result.status, result.outcome) == (Status.EXPIRED, Outcome.UNKNOWN)
            assert effector.committed() == 0
            store.silent = frozenset()
            await effector.advance(2_000)
            assert [result.seq for result in effector.results] == [0, 0, 1]
            assert effector.results[1].outcome == Outcome.NOT_APPLIED
            assert effector.committed() == 2

    async def test_what_the_store_agrees_to_is_not_published_twice(self, gate: Gate) -> None:
        store, clock = flaky()
        store.unheard = frozenset({"record_refusal"})
        async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
            await effector.deliver(request(ttl_ms=-600_000))
            await effector.advance(1_000)
            store.unheard = frozenset()
            await effector.advance(2_000)
            assert len(effector.results) == 1
            assert effector.committed() == 1

    async def test_a_call_that_is_never_answered_counts_as_silence(self, gate: Gate) -> None:
        class Hanging(FlakyStore):
            async def record_refusal(self, *args: Any, **kwargs: Any) -> NoReturn:
                await asyncio.Event().wait()
                raise AssertionError("nobody sets it")

        clock = SteppedClock()
        async with EffectorHarness(
            gate.registry, store=Hanging(clock=clock), clock=clock, store_call_timeout_ms=5_000
        ) as effector:
            await effector.deliver(request(ttl_ms=-1))
            await effector.advance(5_000)
            assert [result.outcome for result in effector.results] == [Outcome.UNKNOWN]
