"""The contract of `DedupStore`, as a test class that every backend subclasses.

A backend's own test file is a bench and a subclass::

    class TestMyStore(DedupStoreContract):
        @pytest.fixture
        async def bench(self) -> AsyncIterator[StoreBench]:
            bench = MyBench(...)
            await bench.start()
            yield bench
            await bench.aclose()

It needs pytest with pytest-asyncio in auto mode. Time moves only where a test
moves it, through the bench.
"""

from __future__ import annotations

from beam_agents.effector.testing.store_bench import StoreBench
from beam_agents.effector.testing.store_claim_contract import ClaimContract
from beam_agents.effector.testing.store_grant_contract import GrantContract
from beam_agents.effector.testing.store_lease_contract import (
    MarkInvokedContract,
    ReleaseContract,
    RenewContract,
)
from beam_agents.effector.testing.store_result_contract import CompleteContract, RefusalContract
from beam_agents.effector.testing.store_retention_contract import (
    LookupContract,
    RetentionContract,
)

__all__ = ["DedupStoreContract", "StoreBench"]


class DedupStoreContract(
    ClaimContract,
    RenewContract,
    MarkInvokedContract,
    ReleaseContract,
    CompleteContract,
    RefusalContract,
    RetentionContract,
    LookupContract,
    GrantContract,
):
    """Every operation of the dedup protocol with each of its answers; give it a `bench`."""

    async def test_the_store_tells_its_clock_or_that_it_has_none(self, bench: StoreBench) -> None:
        told = await bench.store.now_ms()

        assert told is None or told == await bench.now_ms()
