"""The store contract on terminal results: how one is agreed, with a claim and without."""

from __future__ import annotations

import asyncio

from beam_agents.effector.ports import (
    DEADLINE_GRACE_MS,
    Busy,
    Claim,
    Claimed,
    ClaimLost,
    Completed,
    Conflict,
    Stored,
    Superseded,
)
from beam_agents.effector.testing.store_bench import (
    FINGERPRINT,
    LEASE_MS,
    NOT_APPLIED,
    OTHER_FINGERPRINT,
    OTHER_RESULT,
    RESULT,
    UNKNOWN,
    StoreBench,
)


class CompleteContract:
    """The owner's result is stored once; a stale owner's never."""

    async def test_the_owners_result_is_stored(self, bench: StoreBench) -> None:
        assert await bench.complete(await bench.claimed("a")) == Stored(RESULT)
        assert (await bench.record()).result == RESULT

    async def test_an_empty_result_is_a_result(self, bench: StoreBench) -> None:
        assert await bench.complete(await bench.claimed("a"), b"") == Stored(b"")
        assert await bench.claim("b") == Completed(b"")

    async def test_a_result_of_a_megabyte_is_kept(self, bench: StoreBench) -> None:
        large = bytes(range(256)) * 4_096

        assert await bench.complete(await bench.claimed("a"), large) == Stored(large)
        assert await bench.claim("b") == Completed(large)

    async def test_repeating_complete_answers_what_was_stored(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.complete(claim, RESULT)

        assert await bench.complete(claim, OTHER_RESULT) == Stored(RESULT)

    async def test_a_late_owner_completes_if_nobody_took_over(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.let_lease_end()

        assert await bench.complete(claim) == Stored(RESULT)

    async def test_a_late_owner_completes_after_the_deadlines_grace(
        self, bench: StoreBench
    ) -> None:
        claim = await bench.claimed("a")
        await bench.advance_to(bench.deadline_ms + DEADLINE_GRACE_MS)

        assert await bench.complete(claim) == Stored(RESULT)

    async def test_a_stale_owner_cannot_complete(self, bench: StoreBench) -> None:
        stale = await bench.claimed("a")
        await bench.let_lease_end()
        taker = await bench.claimed("b")

        assert await bench.complete(stale, OTHER_RESULT) == Superseded(None)
        assert await bench.complete(taker, RESULT) == Stored(RESULT)

    async def test_repeating_complete_does_not_outwait_a_dead_taker(
        self, bench: StoreBench
    ) -> None:
        stale = await bench.claimed("a")
        await bench.let_lease_end()
        await bench.claimed("b")
        await bench.let_lease_end()

        assert await bench.complete(stale) == Superseded(None)
        assert (await bench.claimed("a again")).attempt == 3

    async def test_a_stale_owner_is_given_the_winners_result(self, bench: StoreBench) -> None:
        stale = await bench.claimed("a")
        await bench.let_lease_end()
        await bench.complete(await bench.claimed("b"), RESULT)

        assert await bench.complete(stale, OTHER_RESULT) == Superseded(RESULT)
        assert (await bench.record()).result == RESULT

    async def test_a_token_with_another_attempt_cannot_complete(self, bench: StoreBench) -> None:
        await bench.claimed("a")

        assert await bench.complete(Claim(bench.intent_id, "a", 2)) == Superseded(None)

    async def test_a_claim_that_was_released_cannot_complete(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.store.release(claim)

        assert await bench.complete(claim) == Superseded(None)

    async def test_after_a_flush_the_result_is_stored_anyway(self, bench: StoreBench) -> None:
        await bench.store.release(await bench.claimed("a"))
        claim = await bench.claimed("a")
        await bench.lose_records()
        await bench.advance_to(bench.deadline_ms + DEADLINE_GRACE_MS - 1)

        assert await bench.complete(claim) == Stored(RESULT)
        assert await bench.complete(claim) == Stored(RESULT)
        assert (await bench.record()).attempt == 2

    async def test_past_the_records_end_the_claim_is_lost(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.lose_records()
        await bench.advance_to(bench.deadline_ms + DEADLINE_GRACE_MS)

        assert await bench.complete(claim) == ClaimLost()
        assert await bench.store.lookup(bench.intent_id) is None

    async def test_attempts_that_start_again_after_a_flush_do_not_mix(
        self, bench: StoreBench
    ) -> None:
        stale = await bench.claimed("a")
        await bench.lose_records()
        taker = await bench.claimed("b")
        assert stale.attempt == taker.attempt

        assert await bench.complete(stale, OTHER_RESULT) == Superseded(None)
        assert await bench.complete(taker, RESULT) == Stored(RESULT)

    async def test_another_request_that_took_the_id_after_a_flush_is_a_conflict(
        self, bench: StoreBench
    ) -> None:
        claim = await bench.claimed("a")
        await bench.lose_records()
        await bench.claimed("b", fingerprint=OTHER_FINGERPRINT)

        assert await bench.complete(claim) == Conflict(OTHER_FINGERPRINT)

    async def test_a_conflict_past_the_records_end_is_a_lost_claim(self, bench: StoreBench) -> None:
        short = await bench.now_ms() + 1_000
        claim = await bench.claimed("a")
        await bench.lose_records()
        await bench.claimed("b", fingerprint=OTHER_FINGERPRINT)
        await bench.advance_to(short + DEADLINE_GRACE_MS)

        assert await bench.complete(claim, expires_at_ms=short) == ClaimLost()


class RefusalContract:
    """A terminal result without a claim says no more than the record knows."""

    async def test_an_intent_never_claimed_was_not_applied(self, bench: StoreBench) -> None:
        await bench.advance_to(bench.deadline_ms + DEADLINE_GRACE_MS - 1)

        assert await bench.refuse() == Stored(NOT_APPLIED)
        assert await bench.claim("a") == Completed(NOT_APPLIED)

    async def test_past_the_records_end_nobody_knows(self, bench: StoreBench) -> None:
        await bench.advance_to(bench.deadline_ms + DEADLINE_GRACE_MS)

        assert await bench.refuse() == Stored(UNKNOWN)
        assert await bench.claim("a") == Completed(UNKNOWN)

    async def test_an_intent_whose_claim_lapsed_may_have_run(self, bench: StoreBench) -> None:
        await bench.claimed("a")
        await bench.let_lease_end()

        assert await bench.refuse() == Stored(UNKNOWN)

    async def test_an_intent_that_was_claimed_and_released_may_have_run(
        self, bench: StoreBench
    ) -> None:
        await bench.claimed("a")
        await bench.let_lease_end()
        await bench.store.release(await bench.claimed("b"))

        assert await bench.refuse() == Stored(UNKNOWN)

    async def test_a_live_claim_goes_first(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.advance(10_000)

        assert await bench.refuse() == Busy(LEASE_MS + bench.margin_ms - 10_000)
        assert await bench.complete(claim) == Stored(RESULT)

    async def test_a_result_goes_first(self, bench: StoreBench) -> None:
        await bench.complete(await bench.claimed("a"))

        assert await bench.refuse() == Completed(RESULT)

    async def test_refusing_twice_answers_what_was_stored(self, bench: StoreBench) -> None:
        await bench.refuse()
        await bench.advance_to(bench.deadline_ms + DEADLINE_GRACE_MS)

        assert await bench.refuse() == Completed(NOT_APPLIED)

    async def test_an_owner_who_slept_through_its_lease_gets_the_refusal(
        self, bench: StoreBench
    ) -> None:
        claim = await bench.claimed("a")
        await bench.let_lease_end()
        await bench.refuse()

        assert await bench.complete(claim) == Superseded(UNKNOWN)
        assert await bench.store.renew([claim], lease_ms=LEASE_MS) == [claim]

    async def test_another_request_under_the_id_is_a_conflict_for_a_refusal(
        self, bench: StoreBench
    ) -> None:
        await bench.claimed("a")

        assert await bench.refuse(fingerprint=OTHER_FINGERPRINT) == Conflict(FINGERPRINT)

    async def test_a_conflict_past_its_end_is_answered_as_unknown(self, bench: StoreBench) -> None:
        short = await bench.now_ms() + 1_000
        await bench.complete(await bench.claimed("a"))
        await bench.advance_to(short + DEADLINE_GRACE_MS)

        answer = await bench.refuse(fingerprint=OTHER_FINGERPRINT, expires_at_ms=short)

        assert answer == Completed(UNKNOWN)
        assert await bench.claim("b") == Completed(RESULT)

    async def test_a_refusal_and_a_claim_at_once_agree(self, bench: StoreBench) -> None:
        for intent in range(10):
            bench.intent_id = f"{bench.intent_id}-{intent}"
            claim, refusal = await asyncio.gather(bench.claim("a"), bench.refuse())
            claimed_first = isinstance(claim, Claimed) and isinstance(refusal, Busy)
            refused_first = (claim, refusal) == (Completed(NOT_APPLIED), Stored(NOT_APPLIED))
            assert claimed_first or refused_first
