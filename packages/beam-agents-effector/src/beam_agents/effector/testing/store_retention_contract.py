"""The store contract on how long a record counts, and on reading one."""

from __future__ import annotations

from beam_agents.effector.dedup import FOREVER_MS
from beam_agents.effector.ports import (
    DEADLINE_GRACE_MS,
    Busy,
    Claimed,
    Completed,
    Conflict,
    DedupRecord,
    Expired,
    Stored,
)
from beam_agents.effector.testing.store_bench import (
    FINGERPRINT,
    HOUR_MS,
    LEASE_MS,
    OTHER_FINGERPRINT,
    OTHER_RESULT,
    RESULT,
    RESULT_TTL_MS,
    StoreBench,
)

FAR_MS = 20 * RESULT_TTL_MS


class RetentionContract:
    """A redelivery of the same bytes finds the record, or a passed deadline."""

    async def test_a_record_is_kept_for_the_result_ttl(self, bench: StoreBench) -> None:
        await bench.complete(await bench.claimed("a"))

        assert (await bench.record()).keep_until_ms == await bench.now_ms() + RESULT_TTL_MS

    async def test_a_record_is_kept_beyond_a_late_deadline(self, bench: StoreBench) -> None:
        far = await bench.now_ms() + FAR_MS
        await bench.claim("a", expires_at_ms=far)

        assert (await bench.record()).keep_until_ms == far + DEADLINE_GRACE_MS

    async def test_a_record_counts_to_its_last_millisecond(self, bench: StoreBench) -> None:
        await bench.complete(await bench.claimed("a"))

        await bench.advance(RESULT_TTL_MS - 1)

        assert (await bench.record()).result == RESULT
        assert await bench.claim("b") == Completed(RESULT)

    async def test_an_ended_record_counts_for_nobody(self, bench: StoreBench) -> None:
        await bench.store.mark_invoked(await bench.claimed("a"))
        await bench.complete(await bench.claimed("a"))

        await bench.let_record_end()

        assert await bench.store.lookup(bench.intent_id) is None
        assert await bench.claim("b") == Expired(record_may_be_gone=True)

    async def test_an_id_begins_anew_after_its_records_end(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.store.mark_invoked(claim)
        await bench.let_record_end()
        assert await bench.store.renew([claim], lease_ms=LEASE_MS) == [claim]
        assert not await bench.store.mark_invoked(claim)
        assert not await bench.store.release(claim)
        later = await bench.now_ms() + HOUR_MS

        answer = await bench.claim("b", fingerprint=OTHER_FINGERPRINT, expires_at_ms=later)

        assert isinstance(answer, Claimed)
        assert (answer.claim.attempt, answer.invoked_before) == (1, False)

    async def test_an_ended_result_does_not_come_back(self, bench: StoreBench) -> None:
        await bench.complete(await bench.claimed("a"), RESULT)
        await bench.let_record_end()
        bench.deadline_ms = await bench.now_ms() + HOUR_MS

        claim = await bench.claimed("b")

        assert await bench.complete(claim, OTHER_RESULT) == Stored(OTHER_RESULT)

    async def test_an_earlier_deadline_never_lowers_the_end(self, bench: StoreBench) -> None:
        far = await bench.now_ms() + FAR_MS
        await bench.claim("a", expires_at_ms=far)

        await bench.claim("b")
        await bench.refuse()

        assert (await bench.record()).keep_until_ms == far + DEADLINE_GRACE_MS

    async def test_every_answer_to_a_claim_raises_the_end(self, bench: StoreBench) -> None:
        far = await bench.now_ms() + FAR_MS
        claim = await bench.claimed("a")

        assert await bench.claim("a", expires_at_ms=far) == Claimed(claim, False)
        assert (await bench.record()).keep_until_ms == far + DEADLINE_GRACE_MS

        assert isinstance(await bench.claim("b", expires_at_ms=far + 1), Busy)
        assert (await bench.record()).keep_until_ms == far + 1 + DEADLINE_GRACE_MS

        answer = await bench.claim("b", fingerprint=OTHER_FINGERPRINT, expires_at_ms=far + 2)
        assert answer == Conflict(FINGERPRINT)
        assert (await bench.record()).keep_until_ms == far + 2 + DEADLINE_GRACE_MS

        await bench.complete(claim)
        assert await bench.claim("b", expires_at_ms=far + 3) == Completed(RESULT)
        assert (await bench.record()).keep_until_ms == far + 3 + DEADLINE_GRACE_MS

    async def test_a_claim_answered_expired_raises_the_end(self, bench: StoreBench) -> None:
        await bench.claimed("a")
        await bench.advance_to(bench.deadline_ms)

        assert await bench.claim("b") == Expired(record_may_be_gone=False)

        assert (await bench.record()).keep_until_ms == await bench.now_ms() + RESULT_TTL_MS

    async def test_every_answer_to_a_refusal_raises_the_end(self, bench: StoreBench) -> None:
        far = await bench.now_ms() + FAR_MS
        await bench.claimed("a")

        assert isinstance(await bench.refuse(expires_at_ms=far), Busy)
        assert (await bench.record()).keep_until_ms == far + DEADLINE_GRACE_MS

        answer = await bench.refuse(fingerprint=OTHER_FINGERPRINT, expires_at_ms=far + 1)
        assert answer == Conflict(FINGERPRINT)
        assert (await bench.record()).keep_until_ms == far + 1 + DEADLINE_GRACE_MS

        await bench.let_lease_end()
        assert isinstance(await bench.refuse(expires_at_ms=far + 2), Stored)
        assert (await bench.record()).keep_until_ms == far + 2 + DEADLINE_GRACE_MS

        assert isinstance(await bench.refuse(expires_at_ms=far + 3), Completed)
        assert (await bench.record()).keep_until_ms == far + 3 + DEADLINE_GRACE_MS

    async def test_completing_keeps_the_result_for_the_ttl(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.advance(HOUR_MS)
        await bench.complete(claim)

        assert (await bench.record()).keep_until_ms == await bench.now_ms() + RESULT_TTL_MS

    async def test_a_record_outlives_its_lease(self, bench: StoreBench) -> None:
        await bench.claim("a", lease_ms=3 * RESULT_TTL_MS)
        await bench.advance(2 * RESULT_TTL_MS)

        later = await bench.now_ms() + HOUR_MS
        assert isinstance(await bench.claim("b", expires_at_ms=later), Busy)

    async def test_a_deadline_beyond_all_time_is_kept_for_ever(self, bench: StoreBench) -> None:
        await bench.refuse(expires_at_ms=2**63 - 1)
        assert (await bench.record()).keep_until_ms == FOREVER_MS

        await bench.advance(1_000 * 365 * RESULT_TTL_MS)

        assert isinstance(await bench.claim("a", expires_at_ms=2**63 - 1), Completed)


class LookupContract:
    """Operators read what the store judges by."""

    async def test_an_unknown_intent_has_no_record(self, bench: StoreBench) -> None:
        assert await bench.store.lookup(bench.intent_id) is None

    async def test_a_record_reads_as_it_was_written(self, bench: StoreBench) -> None:
        now_ms = await bench.now_ms()
        await bench.store.mark_invoked(await bench.claimed("a"))
        claim = await bench.claimed("a")

        assert await bench.record() == DedupRecord(
            fingerprint=FINGERPRINT,
            attempt=1,
            token="a",
            lease_until_ms=now_ms + LEASE_MS,
            invoked=(1,),
            result=None,
            keep_until_ms=now_ms + RESULT_TTL_MS,
        )
        await bench.complete(claim)
        assert (await bench.record()).result == RESULT

    async def test_looking_changes_nothing(self, bench: StoreBench) -> None:
        await bench.claimed("a")
        before = await bench.record()
        await bench.advance(HOUR_MS)

        assert await bench.record() == before
