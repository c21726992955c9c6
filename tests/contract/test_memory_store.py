"""`memory://` under the store contract."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.ports import DedupStore
from beam_agents.effector.testing.hand_clock import HandClock
from beam_agents.effector.testing.store_bench import RESULT_TTL_MS, StoreBench
from beam_agents.effector.testing.store_contract import DedupStoreContract


class MemoryBench(StoreBench):
    def __init__(self) -> None:
        self._clock = HandClock()
        self._memory = MemoryStore(result_ttl_ms=RESULT_TTL_MS, clock=self._clock)
        super().__init__(self._memory)

    async def advance(self, ms: int) -> None:
        self._clock.advance(ms)

    async def another_client(self) -> DedupStore:
        return self._memory

    async def lose_records(self) -> None:
        self._memory._records.clear()
        self._memory._grants.clear()
        self._memory._ends.clear()

    async def now_ms(self) -> int:
        return self._clock.now_ms()


class TestMemoryStore(DedupStoreContract):
    @pytest.fixture
    async def bench(self) -> AsyncIterator[StoreBench]:
        bench = MemoryBench()
        await bench.start()
        yield bench
        await bench.aclose()
