"""`memory://` under the store contract."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from beam_agents.effector.testing.store_bench import StoreBench
from beam_agents.effector.testing.store_contract import DedupStoreContract
from tests.contract.store_benches import MemoryBench


class TestMemoryStore(DedupStoreContract):
    @pytest.fixture
    async def bench(self) -> AsyncIterator[StoreBench]:
        bench = MemoryBench()
        await bench.start()
        yield bench
        await bench.aclose()
