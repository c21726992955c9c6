"""The store contract on approval grants: each is used by one intent."""

from __future__ import annotations

import asyncio

from beam_agents.effector.ports import Busy
from beam_agents.effector.testing.store_bench import HOUR_MS, StoreBench


class GrantContract:
    """`redeem` says yes to one intent, however often that one asks."""

    async def test_the_first_intent_and_its_repeats_may_use_a_grant(
        self, bench: StoreBench
    ) -> None:
        assert await self._redeem(bench, "first")
        assert await self._redeem(bench, "first")

    async def test_a_second_intent_may_not_use_a_grant(self, bench: StoreBench) -> None:
        await self._redeem(bench, "first")

        assert not await self._redeem(bench, "second")
        assert await self._redeem(bench, "first")

    async def test_of_many_intents_at_once_one_uses_the_grant(self, bench: StoreBench) -> None:
        answers = await asyncio.gather(*(self._redeem(bench, f"{n}") for n in range(20)))

        assert sum(answers) == 1

    async def test_a_use_is_kept_until_the_end_that_was_asked(self, bench: StoreBench) -> None:
        await self._redeem(bench, "first", keep_ms=HOUR_MS)

        await bench.advance(HOUR_MS - 1)

        assert not await self._redeem(bench, "second")

    async def test_a_use_is_judged_by_the_clock_not_by_collection(self, bench: StoreBench) -> None:
        await self._redeem(bench, "first", keep_ms=HOUR_MS)

        await bench.advance(HOUR_MS + bench.margin_ms)

        assert await self._redeem(bench, "second")

    async def test_a_repeat_raises_the_end_and_never_lowers_it(self, bench: StoreBench) -> None:
        await self._redeem(bench, "first", keep_ms=1_000)
        await self._redeem(bench, "first", keep_ms=HOUR_MS)
        await self._redeem(bench, "first", keep_ms=1_000)

        await bench.advance(HOUR_MS - 1)

        assert not await self._redeem(bench, "second")

    async def test_a_use_that_would_be_forgotten_at_once_is_refused(
        self, bench: StoreBench
    ) -> None:
        assert not await self._redeem(bench, "first", keep_ms=-bench.margin_ms)
        assert not await self._redeem(bench, "first", keep_ms=-HOUR_MS)

    async def test_a_repeat_may_ask_with_a_passed_end(self, bench: StoreBench) -> None:
        await self._redeem(bench, "first")

        assert await self._redeem(bench, "first", keep_ms=-HOUR_MS)

    async def test_a_grant_may_have_the_id_of_an_intent(self, bench: StoreBench) -> None:
        await bench.claimed("a")

        assert await self._redeem(bench, "first")
        assert isinstance(await bench.claim("b"), Busy)

    @staticmethod
    async def _redeem(bench: StoreBench, intent_id: str, *, keep_ms: int = HOUR_MS) -> bool:
        # A grant's id is the intent id of the request for it.
        keep_until_ms = await bench.now_ms() + keep_ms
        return await bench.store.redeem(bench.intent_id, intent_id, keep_until_ms=keep_until_ms)
