"""One live claim per intent: efforts, leases and their renewal, takeovers, late finishers."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.claims import Lease
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import Claim, Claimed, StoreUnavailable
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.intents import Outcome, Status
from beam_agents.intents.fingerprint import fingerprint
from beam_agents.tools import IntentInfo, ToolRegistry, tool
from tests.unit.effector.flaky_store import FlakyStore
from tests.unit.effector.requests import LEASE_MS, Gate, request

OTHER = "another worker"


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def store(clock: SteppedClock) -> FlakyStore:
    return FlakyStore(clock=clock)


@pytest.fixture
def gate() -> Gate:
    return Gate()


async def take_over(store: MemoryStore, *, result: bytes | None = None) -> None:
    """Claim the request for another worker, and let it finish if there is a result."""
    intent = request()
    digest = fingerprint(intent)
    claimed = await store.claim(
        intent.intent_id,
        digest,
        OTHER,
        lease_ms=LEASE_MS,
        expires_at_ms=intent.expires_at_ms,
    )
    assert isinstance(claimed, Claimed)
    if result is not None:
        await store.complete(claimed.claim, digest, result, expires_at_ms=intent.expires_at_ms)


async def test_a_busy_claim_is_waited_out_and_never_skipped(gate: Gate) -> None:
    async with EffectorHarness(gate.registry) as first:
        await first.deliver(request())
        await first.settle()
        async with first.second_worker() as second:
            await second.deliver(request())
            await second.deliver(request(seq=1))
            await second.advance(19_000)
            assert (second.results, second.committed()) == ([], 0)
            gate.open()
            await second.advance(2_000)
            assert [result.seq for result in second.results] == [0, 0, 1]
            assert second.committed() == 2
        assert first.calls("charge") == 2


async def test_a_killed_workers_intent_runs_again_once_its_lease_is_over(gate: Gate) -> None:
    attempts = []

    @tool(side_effect=True)
    async def charge(*, intent: IntentInfo) -> None:
        attempts.append(intent.attempt)

    async with EffectorHarness(ToolRegistry(charge)) as effector:
        await effector.deliver(request())
        effector.crash_at(Phase.COMPLETE)
        await effector.settle()
        await effector.restart()
        await effector.advance(LEASE_MS - 1)
        assert attempts == [1]
        await effector.advance(2_000)
        assert attempts == [1, 2]
        assert [result.attempt for result in effector.results] == [2]


async def test_the_lease_of_a_running_tool_is_renewed_for_as_long_as_it_runs(
    store: FlakyStore, clock: SteppedClock, gate: Gate
) -> None:
    async with EffectorHarness(
        gate.registry, store=store, clock=clock, tool_timeout_ms=10 * LEASE_MS
    ) as effector:
        await effector.deliver(request())
        await effector.advance(5 * LEASE_MS)
        assert store.calls.count("renew") == 15
        record = await store.lookup(request().intent_id)
        assert record is not None
        assert record.lease_until_ms > effector.now_ms
        gate.open()
        await effector.settle()
        assert [result.attempt for result in effector.results] == [1]


async def test_all_leases_are_renewed_in_one_call(
    store: FlakyStore, clock: SteppedClock, gate: Gate
) -> None:
    async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
        for n in range(20):
            await effector.deliver(request(key=b"%d" % n))
        await effector.advance(LEASE_MS // 3)
        assert store.calls.count("renew") == 1


async def test_without_renewal_no_lease_is_renewed(
    store: FlakyStore, clock: SteppedClock, gate: Gate
) -> None:
    async with EffectorHarness(
        gate.registry, store=store, clock=clock, no_lease_renewal=True
    ) as effector:
        await effector.deliver(request())
        await effector.advance(20_000)
        assert "renew" not in store.calls
        assert [result.status for result in effector.results] == [Status.ERROR]


class SlowToMark(FlakyStore):
    """Answers to a mark after a whole lease."""

    def __init__(self, clock: SteppedClock) -> None:
        super().__init__(clock=clock)
        self._sleep = clock.sleep

    async def mark_invoked(self, *args: Any, **kwargs: Any) -> bool:
        marked = await super().mark_invoked(*args, **kwargs)
        await self._sleep(LEASE_MS)
        return marked


class TestAnEffort:
    async def test_repeats_its_call_under_one_token_until_it_is_answered(
        self, store: FlakyStore, clock: SteppedClock, gate: Gate
    ) -> None:
        gate.open()
        store.unheard = frozenset({"claim"})
        async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
            await effector.deliver(request())
            await effector.advance(1_000)
            store.unheard = frozenset()
            await effector.advance(2_000)
            assert len(store.claims) > 1
            assert len(set(store.claims)) == 1
            assert [result.attempt for result in effector.results] == [1]

    async def test_has_a_fresh_token_once_another_worker_was_met(
        self, store: FlakyStore, clock: SteppedClock, gate: Gate
    ) -> None:
        await take_over(store)
        async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
            await effector.deliver(request())
            await effector.advance(5_000)
            asked = [token for token in store.claims if token != OTHER]
            assert len(asked) == len(set(asked)) > 1

    async def test_starts_no_tool_on_an_answer_that_took_a_whole_lease(
        self, clock: SteppedClock, gate: Gate
    ) -> None:
        gate.open()

        class Slow(FlakyStore):
            async def claim(self, *args: Any, **kwargs: Any) -> Any:
                answer = await super().claim(*args, **kwargs)
                if len(self.claims) == 1:
                    await clock.sleep(LEASE_MS)
                    assert effector.calls("charge") == 0
                return answer

        slow = Slow(clock=clock)
        async with EffectorHarness(gate.registry, store=slow, clock=clock) as effector:
            await effector.deliver(request())
            await effector.advance(LEASE_MS)
            assert len(slow.claims) == 2
            assert len(set(slow.claims)) == 1
            assert [result.attempt for result in effector.results] == [1]

    async def test_starts_no_tool_once_its_lease_is_over_whatever_took_so_long(
        self, clock: SteppedClock
    ) -> None:
        gate = Gate(on_crash="fail")
        gate.open()
        slow = SlowToMark(clock)
        slow.silent = frozenset({"renew"})
        async with EffectorHarness(gate.registry, store=slow, clock=clock) as effector:
            await effector.deliver(request())
            await effector.advance(2 * LEASE_MS)
            assert effector.calls("charge") == 0
            assert [result.attempt for result in effector.results] == [2]

    async def test_starts_no_tool_once_its_deadline_has_come_whatever_took_so_long(
        self, clock: SteppedClock
    ) -> None:
        gate = Gate(on_crash="fail")
        gate.open()
        slow = SlowToMark(clock)
        async with EffectorHarness(gate.registry, store=slow, clock=clock) as effector:
            await effector.deliver(request(ttl_ms=LEASE_MS))
            await effector.advance(LEASE_MS)
            assert effector.calls("charge") == 0
            assert [result.status for result in effector.results] == [Status.EXPIRED]

    async def test_counts_its_lease_from_its_first_call_which_may_be_the_one_that_was_granted(
        self, store: FlakyStore, clock: SteppedClock, gate: Gate
    ) -> None:
        store.unheard, store.silent = frozenset({"claim"}), frozenset({"renew"})
        async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
            await effector.deliver(request())
            await effector.advance(LEASE_MS // 3)
            store.unheard = frozenset()
            await effector.advance(LEASE_MS // 3)
            assert (gate.entered, gate.cancelled) == ([0], 0)

            await effector.advance(LEASE_MS // 3 - LEASE_MS // 10)

            assert gate.cancelled == 1

    @pytest.mark.parametrize(
        "error", [StoreUnavailable, ConnectionError, TimeoutError, asyncio.TimeoutError]
    )
    async def test_takes_any_of_these_errors_for_a_silent_store(
        self, store: FlakyStore, clock: SteppedClock, gate: Gate, error: type[Exception]
    ) -> None:
        gate.open()
        store.failure, store.silent = error, frozenset({"claim"})
        async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
            await effector.deliver(request())
            await effector.advance(60_000)
            assert effector.calls("charge") == 0
            store.silent = frozenset()
            await effector.advance(2_000)
            assert [result.status for result in effector.results] == [Status.OK]


class TestAWorkerCutOffFromTheStore:
    async def test_stops_its_tool_before_its_lease_ends(
        self, store: FlakyStore, clock: SteppedClock, gate: Gate
    ) -> None:
        async with EffectorHarness(
            gate.registry, store=store, clock=clock, tool_timeout_ms=10 * LEASE_MS
        ) as effector:
            await effector.deliver(request())
            await effector.advance(LEASE_MS)
            store.silent = frozenset({"renew", "claim"})
            record = await store.lookup(request().intent_id)
            assert record is not None
            await effector.advance(record.lease_until_ms - effector.now_ms - 1)
            assert gate.cancelled == 1
            assert effector.results == []

    async def test_counts_its_lease_from_before_the_last_renewal_was_sent(
        self, clock: SteppedClock, gate: Gate
    ) -> None:
        class SlowToRenewOnce(FlakyStore):
            async def renew(self, *args: Any, **kwargs: Any) -> Any:
                answer = await super().renew(*args, **kwargs)
                self.silent = frozenset({"renew"})
                await clock.sleep(8_000)
                return answer

        slow = SlowToRenewOnce(clock=clock)
        async with EffectorHarness(
            gate.registry, store=slow, clock=clock, tool_timeout_ms=10 * LEASE_MS
        ) as effector:
            await effector.deliver(request())
            await effector.advance(LEASE_MS // 3 + LEASE_MS - LEASE_MS // 10 - 1)
            assert gate.cancelled == 0
            await effector.advance(1)
            assert gate.cancelled == 1

    async def test_runs_the_intent_again_under_a_new_claim_when_the_store_is_back(
        self, store: FlakyStore, clock: SteppedClock, gate: Gate
    ) -> None:
        async with EffectorHarness(
            gate.registry, store=store, clock=clock, tool_timeout_ms=10 * LEASE_MS
        ) as effector:
            await effector.deliver(request())
            await effector.settle()
            store.silent = frozenset({"renew", "claim"})
            await effector.advance(2 * LEASE_MS)
            store.silent = frozenset()
            gate.open()
            await effector.advance(2_000)
            (result,) = effector.results
            assert (result.status, result.attempt) == (Status.OK, 2)

    async def test_publishes_the_winners_result_and_not_its_own(
        self, store: FlakyStore, clock: SteppedClock, gate: Gate
    ) -> None:
        async with EffectorHarness(
            gate.registry, store=store, clock=clock, tool_timeout_ms=10 * LEASE_MS
        ) as effector:
            await effector.deliver(request())
            await effector.settle()
            store.silent = frozenset({"renew", "claim"})
            await effector.advance(LEASE_MS)
            store.silent = frozenset()
            await take_over(store, result=b"\x0a\x06winner")
            await effector.advance(2_000)
            assert [record.value for record in effector.result_records] == [b"\x0a\x06winner"]

    async def test_is_judged_by_the_record_if_its_tool_finishes_all_the_same(
        self, store: FlakyStore, clock: SteppedClock
    ) -> None:
        @tool(side_effect=True)
        async def charge() -> str:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "done in spite of it"
            raise AssertionError("nobody sets it")

        async with EffectorHarness(
            ToolRegistry(charge), store=store, clock=clock, tool_timeout_ms=10 * LEASE_MS
        ) as effector:
            await effector.deliver(request())
            await effector.settle()
            store.silent = frozenset({"renew"})
            await effector.advance(LEASE_MS)
            (result,) = effector.results
            assert (result.status, result.attempt) == (Status.OK, 1)

    async def test_publishes_the_winners_result_if_its_own_comes_too_late(
        self, store: FlakyStore, clock: SteppedClock, gate: Gate
    ) -> None:
        gate.open()
        store.silent = frozenset({"complete", "renew"})
        async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
            await effector.deliver(request())
            await effector.advance(LEASE_MS)
            assert gate.left == [0]
            store.silent = frozenset()
            await take_over(store, result=b"\x0a\x06winner")
            await effector.advance(2_000)
            assert [record.value for record in effector.result_records] == [b"\x0a\x06winner"]

    async def test_cannot_stop_a_blocking_tool_whose_late_answer_is_judged_by_the_record(
        self, store: FlakyStore, clock: SteppedClock
    ) -> None:
        release = threading.Event()

        @tool(side_effect=True)
        def charge() -> str:
            release.wait()
            return "late"

        async with EffectorHarness(
            ToolRegistry(charge), store=store, clock=clock, tool_timeout_ms=10 * LEASE_MS
        ) as effector:
            await effector.deliver(request())
            await effector.settle()
            store.silent = frozenset({"renew"})
            await effector.advance(2 * LEASE_MS)
            assert effector.results == []
            release.set()
            await effector.settle()
            assert [(each.status, each.attempt) for each in effector.results] == [(Status.OK, 1)]

    async def test_waits_for_a_taker_that_still_runs(
        self, store: FlakyStore, clock: SteppedClock, gate: Gate
    ) -> None:
        async with EffectorHarness(
            gate.registry, store=store, clock=clock, no_lease_renewal=True, lease_ms=21_000
        ) as effector:
            await effector.deliver(request())
            await effector.settle()
            store.silent = frozenset({"complete"})
            gate.open()
            await effector.advance(21_000)
            await take_over(store)
            store.silent = frozenset()
            await effector.advance(5_000)
            assert effector.results == []
            await effector.advance(LEASE_MS)
            assert [result.attempt for result in effector.results] == [3]
            ours = [token for token in store.claims if token != OTHER]
            assert len(ours) == len(set(ours)) > 2  # the lost one is not asked with again


class TestAnUnansweredCompletion:
    async def test_is_repeated_until_the_store_answers_and_the_tool_is_not(
        self, store: FlakyStore, clock: SteppedClock, gate: Gate
    ) -> None:
        gate.open()
        store.silent = frozenset({"complete"})
        async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
            await effector.deliver(request())
            await effector.advance(10 * LEASE_MS)
            assert effector.results == []
            store.silent = frozenset()
            await effector.advance(2_000)
            assert [result.attempt for result in effector.results] == [1]
            assert effector.calls("charge") == 1

    async def test_finds_its_own_result_when_only_the_reply_was_lost(
        self, store: FlakyStore, clock: SteppedClock, gate: Gate
    ) -> None:
        gate.open()
        store.unheard = frozenset({"complete"})
        async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
            await effector.deliver(request())
            await effector.settle()
            store.unheard = frozenset()
            await effector.advance(2_000)
            assert len(effector.results) == 1
            assert effector.calls("charge") == 1

    async def test_survives_a_flushed_store(
        self, store: FlakyStore, clock: SteppedClock, gate: Gate
    ) -> None:
        async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
            await effector.deliver(request())
            await effector.settle()
            store.forget_everything()
            gate.open()
            await effector.settle()
            assert [result.status for result in effector.results] == [Status.OK]

    async def test_publishes_no_result_once_its_records_time_is_over(
        self, store: FlakyStore, clock: SteppedClock
    ) -> None:
        gate = Gate(timeout_ms=3_600_000)
        async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
            await effector.deliver(request(ttl_ms=60_000))
            await effector.advance(60_000 + 600_000)
            store.forget_everything()
            gate.open()
            await effector.settle()
            (result,) = effector.results
            assert (result.status, result.outcome) == (Status.EXPIRED, Outcome.UNKNOWN)
            assert (gate.left, effector.committed()) == ([0], 1)

    async def test_answers_unknown_where_a_flushed_store_gave_the_id_away(
        self, store: FlakyStore, clock: SteppedClock, gate: Gate
    ) -> None:
        async with EffectorHarness(gate.registry, store=store, clock=clock) as effector:
            await effector.deliver(request())
            await effector.settle()
            store.forget_everything()
            other = request(args={"n": 1})
            await store.claim(
                other.intent_id,
                fingerprint(other),
                OTHER,
                lease_ms=LEASE_MS,
                expires_at_ms=other.expires_at_ms,
            )
            gate.open()
            await effector.settle()
            (result,) = effector.results
            assert (result.status, result.outcome) == (Status.ERROR, Outcome.UNKNOWN)
            assert result.fingerprint == fingerprint(request())


class TestConflicts:
    async def test_the_tool_does_not_run_and_the_others_result_is_not_handed_out(
        self, gate: Gate
    ) -> None:
        gate.open()
        async with EffectorHarness(gate.registry) as effector:
            await effector.deliver(request(args={"n": 1}))
            await effector.deliver(request(args={"n": 2}))
            await effector.settle()
            first, second = effector.results
            assert gate.entered == [1]
            assert (second.status, second.outcome) == (Status.REJECTED, Outcome.UNKNOWN)
            assert second.fingerprint == fingerprint(request(args={"n": 2}))
            assert second.fingerprint != first.fingerprint
            assert second.payload == b""

    async def test_the_answer_is_a_function_of_the_intent(self, gate: Gate) -> None:
        gate.open()
        async with EffectorHarness(gate.registry) as effector:
            await effector.deliver(request(args={"n": 1}))
            for _ in range(2):
                await effector.deliver(request(args={"n": 2}))
                await effector.advance(1_000)
            _, second, third = effector.result_records
            assert second.value == third.value
            result = effector.results[1]
            assert (result.attempt, result.started_at_ms) == (0, 0)
            assert result.completed_at_ms == request().created_at_ms

    @pytest.mark.parametrize(
        ("late_ms", "status"), [(599_999, Status.REJECTED), (600_000, Status.EXPIRED)]
    )
    async def test_ten_minutes_after_the_deadline_it_is_answered_as_expired(
        self, gate: Gate, late_ms: int, status: Status
    ) -> None:
        gate.open()
        async with EffectorHarness(gate.registry) as effector:
            await effector.deliver(request(args={"n": 1}))
            await effector.settle()
            await effector.deliver(request(args={"n": 2}, ttl_ms=-late_ms))
            await effector.settle()
            second = effector.results[1]
            assert (second.status, second.outcome) == (status, Outcome.UNKNOWN)


def test_a_lease_is_over_by_the_clock_before_any_alarm_can_ring() -> None:
    clock = SteppedClock()
    answer = Claimed(Claim("intent-1", "token", 1), invoked_before=False)
    lease = Lease(answer, clock, clock.monotonic_ms() + 100)
    assert not lease.over
    clock.step(clock.now_ms() + 100)
    assert lease.over
