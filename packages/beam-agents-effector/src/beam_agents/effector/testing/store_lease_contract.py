"""The store contract on what a claim can do before it completes: renew, mark, release."""

from __future__ import annotations

import asyncio

from beam_agents.effector.ports import Busy, Claim, Claimed, Completed
from beam_agents.effector.testing.store_bench import (
    HOUR_MS,
    LEASE_MS,
    RESULT,
    RESULT_TTL_MS,
    StoreBench,
)


class RenewContract:
    """Leases are kept by their owners, and by nobody else."""

    async def test_renewing_extends_the_lease(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.advance(LEASE_MS - 1)

        assert await bench.store.renew([claim], lease_ms=LEASE_MS) == []

        await bench.advance(LEASE_MS - 1)
        assert isinstance(await bench.claim("b"), Busy)

    async def test_renewing_never_shortens_the_lease(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")

        assert await bench.store.renew([claim], lease_ms=1) == []

        await bench.advance(LEASE_MS - 1)
        assert isinstance(await bench.claim("b"), Busy)

    async def test_renewing_nothing_is_fine(self, bench: StoreBench) -> None:
        assert await bench.store.renew([], lease_ms=LEASE_MS) == []

    async def test_a_lapsed_lease_that_nobody_took_is_renewed(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.let_lease_end()

        assert await bench.store.renew([claim], lease_ms=LEASE_MS) == []
        assert isinstance(await bench.claim("b"), Busy)

    async def test_renew_returns_the_lost_claims_only(self, bench: StoreBench) -> None:
        stale = await bench.claimed("a")
        await bench.let_lease_end()
        await bench.claimed("b")
        held = await bench.claimed("a", intent_id=bench.intent_id + "-held")
        unknown = Claim(bench.intent_id + "-unknown", "a", 1)

        lost = await bench.store.renew([stale, held, unknown], lease_ms=LEASE_MS)

        assert lost == [stale, unknown]

    async def test_a_stale_owner_does_not_extend_its_successors_lease(
        self, bench: StoreBench
    ) -> None:
        stale = await bench.claimed("a")
        await bench.let_lease_end()
        await bench.claimed("b")
        await bench.advance(LEASE_MS - 1)

        assert await bench.store.renew([stale], lease_ms=LEASE_MS) == [stale]

        await bench.advance(1 + bench.margin_ms)
        assert isinstance(await bench.claim("c"), Claimed)

    async def test_a_token_with_another_attempt_is_lost(self, bench: StoreBench) -> None:
        await bench.claimed("a")
        forged = Claim(bench.intent_id, "a", 2)

        assert await bench.store.renew([forged], lease_ms=LEASE_MS) == [forged]

    async def test_renew_never_recreates_an_absent_record(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.lose_records()

        assert await bench.store.renew([claim], lease_ms=LEASE_MS) == [claim]
        assert await bench.store.lookup(bench.intent_id) is None

    async def test_renewing_what_we_completed_is_no_loss(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.complete(claim)
        completed = await bench.record()
        await bench.advance(HOUR_MS)

        assert await bench.store.renew([claim], lease_ms=LEASE_MS) == []
        assert await bench.record() == completed

    async def test_renewing_what_another_completed_is_a_loss(self, bench: StoreBench) -> None:
        stale = await bench.claimed("a")
        await bench.let_lease_end()
        await bench.complete(await bench.claimed("b"))

        assert await bench.store.renew([stale], lease_ms=LEASE_MS) == [stale]

    async def test_a_tool_that_runs_longer_than_the_ttl_keeps_its_claim(
        self, bench: StoreBench
    ) -> None:
        claim = await bench.claimed("a")

        for _ in range(30):
            await bench.advance(HOUR_MS)
            assert await bench.store.renew([claim], lease_ms=LEASE_MS) == []

        assert (await bench.record()).keep_until_ms == await bench.now_ms() + RESULT_TTL_MS

    async def test_ten_thousand_live_claims_are_renewed_together(self, bench: StoreBench) -> None:
        claims = await asyncio.gather(
            *(bench.claimed("a", intent_id=f"{bench.intent_id}-{n}") for n in range(10_000))
        )
        await bench.advance(LEASE_MS - 1)

        assert await bench.store.renew(claims, lease_ms=LEASE_MS) == []

        await bench.advance(LEASE_MS - 1)
        assert isinstance(await bench.claim("b", intent_id=claims[-1].intent_id), Busy)


class MarkInvokedContract:
    """A taker learns whether an earlier attempt may have called the tool."""

    async def test_a_taker_learns_of_an_earlier_invocation(self, bench: StoreBench) -> None:
        assert await bench.store.mark_invoked(await bench.claimed("a"))
        await bench.let_lease_end()

        assert await bench.claim("b") == Claimed(Claim(bench.intent_id, "b", 2), True)

    async def test_marking_twice_is_marking_once(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")

        assert await bench.store.mark_invoked(claim)
        assert await bench.store.mark_invoked(claim)
        assert (await bench.record()).invoked == (1,)

    async def test_the_own_mark_is_no_earlier_invocation(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.store.mark_invoked(claim)

        assert await bench.claim("a") == Claimed(claim, False)

    async def test_an_older_mark_is_told_on_a_repeat_too(self, bench: StoreBench) -> None:
        await bench.store.mark_invoked(await bench.claimed("a"))
        await bench.let_lease_end()
        claim = await bench.claimed("b")
        await bench.store.mark_invoked(claim)

        assert await bench.claim("b") == Claimed(claim, True)

    async def test_a_stale_owner_cannot_mark(self, bench: StoreBench) -> None:
        stale = await bench.claimed("a")
        await bench.let_lease_end()
        await bench.claimed("b")

        assert not await bench.store.mark_invoked(stale)
        assert (await bench.record()).invoked == ()

    async def test_nothing_is_marked_in_a_flushed_store(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.lose_records()

        assert not await bench.store.mark_invoked(claim)
        assert await bench.store.lookup(bench.intent_id) is None

    async def test_a_completed_intent_is_not_to_be_invoked(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.complete(claim)

        assert not await bench.store.mark_invoked(claim)


class ReleaseContract:
    """A claim whose tool was not called is handed back, by its owner."""

    async def test_a_released_intent_is_free_at_once(self, bench: StoreBench) -> None:
        assert await bench.store.release(await bench.claimed("a"))

        assert isinstance(await bench.claim("b"), Claimed)

    async def test_attempts_go_on_counting_after_a_release(self, bench: StoreBench) -> None:
        await bench.store.release(await bench.claimed("a"))

        assert (await bench.claimed("a")).attempt == 2

    async def test_a_release_clears_its_own_mark(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.store.mark_invoked(claim)

        await bench.store.release(claim)

        assert await bench.claim("b") == Claimed(Claim(bench.intent_id, "b", 2), False)

    async def test_a_release_keeps_older_marks(self, bench: StoreBench) -> None:
        await bench.store.mark_invoked(await bench.claimed("a"))
        await bench.let_lease_end()
        claim = await bench.claimed("b")
        await bench.store.mark_invoked(claim)

        await bench.store.release(claim)

        assert await bench.claim("c") == Claimed(Claim(bench.intent_id, "c", 3), True)

    async def test_a_stale_owner_cannot_release(self, bench: StoreBench) -> None:
        stale = await bench.claimed("a")
        await bench.let_lease_end()
        await bench.claimed("b")

        assert not await bench.store.release(stale)
        assert isinstance(await bench.claim("c"), Busy)

    async def test_a_release_is_no_longer_ours_the_second_time(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")

        assert await bench.store.release(claim)
        assert not await bench.store.release(claim)

    async def test_a_completed_intent_cannot_be_released(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.complete(claim)

        assert not await bench.store.release(claim)
        assert await bench.claim("b") == Completed(RESULT)

    async def test_nothing_is_released_in_a_flushed_store(self, bench: StoreBench) -> None:
        claim = await bench.claimed("a")
        await bench.lose_records()

        assert not await bench.store.release(claim)
        assert await bench.store.lookup(bench.intent_id) is None
