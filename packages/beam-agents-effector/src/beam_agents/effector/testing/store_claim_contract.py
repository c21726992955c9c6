"""The store contract on `claim`: each of its answers, and the order in which they are judged."""

from __future__ import annotations

import asyncio

from beam_agents.effector.ports import (
    DEADLINE_GRACE_MS,
    Busy,
    Claim,
    Claimed,
    Completed,
    Conflict,
    Expired,
)
from beam_agents.effector.testing.store_bench import (
    FINGERPRINT,
    LEASE_MS,
    OTHER_FINGERPRINT,
    RESULT,
    StoreBench,
)


class ClaimContract:
    """Who may run an intent, and what the others are told."""

    async def test_the_first_claim_is_attempt_one(self, bench: StoreBench) -> None:
        assert await bench.claim("a") == Claimed(Claim(bench.intent_id, "a", 1), False)

    async def test_of_many_claims_at_once_one_wins(self, bench: StoreBench) -> None:
        bench.store, first = await bench.another_client(), bench.store
        efforts = [bench.claim(f"second-{n}") for n in range(20)]
        bench.store = first
        efforts += [bench.claim(f"first-{n}") for n in range(20)]

        answers = await asyncio.gather(*efforts)

        assert sum(isinstance(answer, Claimed) for answer in answers) == 1
        assert sum(isinstance(answer, Busy) for answer in answers) == 39

    async def test_another_client_sees_the_claim(self, bench: StoreBench) -> None:
        await bench.claimed("a")
        bench.store = await bench.another_client()

        assert isinstance(await bench.claim("b"), Busy)

    async def test_busy_says_when_to_ask_again(self, bench: StoreBench) -> None:
        await bench.claimed("a")
        await bench.advance(10_000)

        answer = await bench.claim("b")

        assert answer == Busy(LEASE_MS + bench.margin_ms - 10_000)
        await bench.advance(answer.retry_after_ms)
        assert isinstance(await bench.claim("b"), Claimed)

    async def test_a_lease_holds_to_its_last_millisecond(self, bench: StoreBench) -> None:
        await bench.claimed("a")
        await bench.advance(LEASE_MS + bench.margin_ms - 1)
        assert isinstance(await bench.claim("b"), Busy)

        await bench.advance(1)

        assert await bench.claim("b") == Claimed(Claim(bench.intent_id, "b", 2), False)

    async def test_intents_do_not_disturb_each_other(self, bench: StoreBench) -> None:
        await bench.claimed("a")

        assert (await bench.claimed("a", intent_id=bench.intent_id + "-2")).attempt == 1

    async def test_an_intent_id_may_be_any_text(self, bench: StoreBench) -> None:
        for intent_id in ("", "a b\n{c}:*\\", "ключ-\N{SNOWMAN}", "x" * 1_000):
            assert (await bench.claimed("a", intent_id=intent_id)).attempt == 1
            assert isinstance(await bench.claim("b", intent_id=intent_id), Busy)

    async def test_a_claim_without_a_token_is_a_mistake(self, bench: StoreBench) -> None:
        await bench.store.release(await bench.claimed("a"))  # the record's token is empty now

        try:
            answer = await bench.claim("")
        except ValueError:
            return
        raise AssertionError(f"a claim without a token was answered {answer}")

    # --- the same token again: a lost reply ---

    async def test_repeating_a_claim_gives_the_same_attempt(self, bench: StoreBench) -> None:
        first = await bench.claim("a")

        assert await bench.claim("a") == first

    async def test_repeating_a_claim_extends_its_lease(self, bench: StoreBench) -> None:
        await bench.claimed("a")
        await bench.advance(LEASE_MS - 1)
        await bench.claim("a")

        await bench.advance(LEASE_MS - 1)

        assert isinstance(await bench.claim("b"), Busy)

    async def test_repeating_a_claim_never_shortens_its_lease(self, bench: StoreBench) -> None:
        await bench.claimed("a")
        await bench.claim("a", lease_ms=1)

        await bench.advance(LEASE_MS - 1)

        assert isinstance(await bench.claim("b"), Busy)

    async def test_repeating_a_claim_past_its_lease_gives_the_same_attempt(
        self, bench: StoreBench
    ) -> None:
        first = await bench.claim("a")
        await bench.let_lease_end()

        assert await bench.claim("a") == first
        assert isinstance(await bench.claim("b"), Busy)

    async def test_the_own_token_is_judged_before_the_deadline(self, bench: StoreBench) -> None:
        first = await bench.claim("a")
        await bench.advance_to(bench.deadline_ms)

        assert await bench.claim("a") == first

    async def test_a_token_that_was_taken_over_is_nobodys(self, bench: StoreBench) -> None:
        await bench.claimed("a")
        await bench.let_lease_end()
        await bench.claimed("b")
        assert isinstance(await bench.claim("a"), Busy)

        await bench.let_lease_end()

        assert (await bench.claimed("a")).attempt == 3

    # --- the order of the answers ---

    async def test_a_completed_intent_answers_with_its_result(self, bench: StoreBench) -> None:
        await bench.complete(await bench.claimed("a"))

        assert await bench.claim("b") == Completed(RESULT)
        assert await bench.claim("a") == Completed(RESULT)

    async def test_completed_is_judged_before_the_deadline(self, bench: StoreBench) -> None:
        await bench.complete(await bench.claimed("a"))
        await bench.advance_to(bench.deadline_ms + DEADLINE_GRACE_MS)

        assert await bench.claim("b") == Completed(RESULT)

    async def test_another_request_under_the_id_is_a_conflict(self, bench: StoreBench) -> None:
        await bench.claimed("a")

        answer = await bench.claim("b", fingerprint=OTHER_FINGERPRINT)

        assert answer == Conflict(FINGERPRINT)

    async def test_a_conflict_is_judged_before_the_own_token(self, bench: StoreBench) -> None:
        await bench.claimed("a")

        assert await bench.claim("a", fingerprint=OTHER_FINGERPRINT) == Conflict(FINGERPRINT)

    async def test_a_conflict_is_judged_before_completed(self, bench: StoreBench) -> None:
        await bench.complete(await bench.claimed("a"))

        assert await bench.claim("b", fingerprint=OTHER_FINGERPRINT) == Conflict(FINGERPRINT)

    async def test_busy_is_judged_before_the_deadline(self, bench: StoreBench) -> None:
        await bench.advance_to(bench.deadline_ms - 1)
        await bench.claimed("a")
        await bench.advance(1)

        assert isinstance(await bench.claim("b"), Busy)

    # --- the deadline, by the store's clock ---

    async def test_a_claim_just_before_the_deadline_succeeds(self, bench: StoreBench) -> None:
        await bench.advance_to(bench.deadline_ms - 1)

        assert isinstance(await bench.claim("a"), Claimed)

    async def test_a_claim_at_the_deadline_is_expired(self, bench: StoreBench) -> None:
        await bench.advance_to(bench.deadline_ms)

        assert await bench.claim("a") == Expired(record_may_be_gone=False)
        assert await bench.store.lookup(bench.intent_id) is None

    async def test_no_deadline_and_negative_ones_are_long_passed(self, bench: StoreBench) -> None:
        for expires_at_ms in (0, -1, -(2**63)):
            answer = await bench.claim("a", expires_at_ms=expires_at_ms)
            assert answer == Expired(record_may_be_gone=True)

    async def test_a_lapsed_claim_past_the_deadline_is_expired(self, bench: StoreBench) -> None:
        await bench.claimed("a")
        await bench.advance_to(bench.deadline_ms)

        assert await bench.claim("b") == Expired(record_may_be_gone=False)

    async def test_after_the_grace_a_record_may_be_gone(self, bench: StoreBench) -> None:
        await bench.advance_to(bench.deadline_ms + DEADLINE_GRACE_MS - 1)
        assert await bench.claim("a") == Expired(record_may_be_gone=False)

        await bench.advance(1)

        assert await bench.claim("a") == Expired(record_may_be_gone=True)

    async def test_a_record_that_is_there_is_not_gone(self, bench: StoreBench) -> None:
        await bench.claimed("a")
        await bench.advance_to(bench.deadline_ms + DEADLINE_GRACE_MS)

        assert await bench.claim("b") == Expired(record_may_be_gone=False)

    async def test_a_conflict_past_the_newcomers_end_is_expired(self, bench: StoreBench) -> None:
        newcomer = await bench.now_ms() + 1_000
        await bench.claimed("a")
        await bench.advance_to(newcomer + DEADLINE_GRACE_MS - 1)
        answer = await bench.claim("b", fingerprint=OTHER_FINGERPRINT, expires_at_ms=newcomer)
        assert answer == Conflict(FINGERPRINT)

        await bench.advance(1)

        answer = await bench.claim("b", fingerprint=OTHER_FINGERPRINT, expires_at_ms=newcomer)
        assert answer == Expired(record_may_be_gone=True)
