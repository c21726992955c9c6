"""What `--http` puts around a store changes none of its answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from beam_agents.effector.metered import MeteredStore
from beam_agents.effector.metrics import Metrics
from beam_agents.effector.testing.store_bench import StoreBench
from beam_agents.effector.testing.store_contract import DedupStoreContract
from tests.contract.store_benches import MemoryBench


class MeteredBench(MemoryBench):
    def __init__(self) -> None:
        super().__init__()
        self.store = MeteredStore(self.store, Metrics([]))


class TestMeteredStore(DedupStoreContract):
    @pytest.fixture
    async def bench(self) -> AsyncIterator[StoreBench]:
        bench = MeteredBench()
        await bench.start()
        yield bench
        await bench.aclose()
