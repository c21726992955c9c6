"""Stores behind a bad network: a call that is not answered says so, and may be repeated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pytest

from beam_agents.effector.backends.bigtable_store import BigtableStore
from beam_agents.effector.backends.redis_store import RedisStore
from beam_agents.effector.ports import (
    Busy,
    Claimed,
    Completed,
    DedupStore,
    Stored,
    StoreUnavailable,
)
from tests.bigtable_tables import Tables
from tests.fault_proxy import Fault, FaultProxy

_A = TypeVar("_A")

_FINGERPRINT = bytes(range(32))
_FOR_EVER_MS = 10**13
# Short, so that unanswered calls end soon; what is asserted is that they end, not when.
_CALL_TIMEOUT_MS = 500


@dataclass
class FaultyStore:
    """A store behind a proxy; `direct` is the same one with nothing between."""

    proxy: FaultProxy
    store: DedupStore
    direct: DedupStore

    async def claim(self, intent_id: str, token: str, *, direct: bool = False) -> object:
        store = self.direct if direct else self.store
        return await store.claim(
            intent_id, _FINGERPRINT, token, lease_ms=60_000, expires_at_ms=_FOR_EVER_MS
        )

    async def must_be_silent(self, intent_id: str, token: str) -> None:
        with pytest.raises(StoreUnavailable):
            await self.claim(intent_id, token)


async def _answered(call: Callable[[], Awaitable[_A]]) -> _A:
    """Call until the store answers: a client may be slow to find its connection gone."""
    while True:
        try:
            return await call()
        except StoreUnavailable:
            await asyncio.sleep(0.05)


def _redis(url: str) -> RedisStore:
    return RedisStore(url, result_ttl_ms=60_000, call_timeout_ms=_CALL_TIMEOUT_MS)


@pytest.fixture
async def faulty_redis(redis_url: str) -> AsyncIterator[FaultyStore]:
    parts = urlsplit(redis_url)
    assert parts.hostname is not None
    async with FaultProxy(parts.hostname, parts.port or 6379) as proxy:
        behind = urlunsplit(parts._replace(netloc=f"127.0.0.1:{proxy.port}"))
        faulty = FaultyStore(proxy, _redis(behind), _redis(redis_url))
        await faulty.store.open()
        await faulty.direct.open()
        yield faulty
        await faulty.store.aclose()
        await faulty.direct.aclose()


@pytest.fixture
async def faulty_bigtable(
    bigtable_emulator: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FaultyStore]:
    host, _, port = bigtable_emulator.partition(":")
    table = Tables(bigtable_emulator).create(f"faults-{uuid4().hex}")
    stores = [BigtableStore(table, call_timeout_ms=_CALL_TIMEOUT_MS) for _ in range(2)]
    async with FaultProxy(host, int(port)) as proxy:
        faulty = FaultyStore(proxy, *stores)
        monkeypatch.setenv("BIGTABLE_EMULATOR_HOST", bigtable_emulator)
        await faulty.direct.open()
        monkeypatch.setenv("BIGTABLE_EMULATOR_HOST", f"127.0.0.1:{proxy.port}")
        await faulty.store.open()
        yield faulty
        await faulty.store.aclose()
        await faulty.direct.aclose()


@pytest.fixture(params=["faulty_redis", "faulty_bigtable"])
def faulty(request: pytest.FixtureRequest) -> FaultyStore:
    faulty: FaultyStore = request.getfixturevalue(request.param)
    return faulty


@pytest.fixture
def intent_id() -> str:
    return f"intent-{uuid4()}"


@pytest.mark.parametrize("fault", [Fault.BLACKHOLE, Fault.LOST_REPLIES])
async def test_an_unanswered_call_says_so_and_the_store_is_used_again_once_it_answers(
    faulty: FaultyStore, intent_id: str, fault: Fault
) -> None:
    faulty.proxy.fault = fault
    await faulty.must_be_silent(intent_id, "ours")
    faulty.proxy.fault = Fault.NONE

    assert isinstance(await _answered(partial(faulty.claim, intent_id, "ours")), Claimed)


async def test_a_call_into_a_hanging_host_says_so(faulty: FaultyStore, intent_id: str) -> None:
    faulty.proxy.fault = Fault.HALF_OPEN
    faulty.proxy.reset()
    await faulty.must_be_silent(intent_id, "ours")
    faulty.proxy.fault = Fault.NONE
    faulty.proxy.reset()

    assert isinstance(await _answered(partial(faulty.claim, intent_id, "ours")), Claimed)


async def test_a_claim_whose_reply_was_lost_is_ours_when_asked_again(
    faulty: FaultyStore, intent_id: str
) -> None:
    faulty.proxy.fault = Fault.LOST_REPLIES
    await faulty.must_be_silent(intent_id, "ours")
    assert isinstance(await faulty.claim(intent_id, "theirs", direct=True), Busy)
    faulty.proxy.fault = Fault.NONE

    answer = await _answered(partial(faulty.claim, intent_id, "ours"))

    assert isinstance(answer, Claimed)
    assert answer.claim.attempt == 1  # one attempt, however often it was asked for


async def test_a_completion_whose_reply_was_lost_may_be_repeated(
    faulty: FaultyStore, intent_id: str
) -> None:
    answer = await faulty.claim(intent_id, "ours")
    assert isinstance(answer, Claimed)
    complete = faulty.store.complete

    faulty.proxy.fault = Fault.LOST_REPLIES
    with pytest.raises(StoreUnavailable):
        await complete(answer.claim, _FINGERPRINT, b"result", expires_at_ms=_FOR_EVER_MS)
    assert await faulty.claim(intent_id, "theirs", direct=True) == Completed(b"result")
    faulty.proxy.fault = Fault.NONE

    repeated = await _answered(
        partial(complete, answer.claim, _FINGERPRINT, b"result", expires_at_ms=_FOR_EVER_MS)
    )
    assert repeated == Stored(b"result")


async def test_a_reset_connection_is_made_anew(faulty: FaultyStore, intent_id: str) -> None:
    assert isinstance(await faulty.claim(intent_id, "ours"), Claimed)
    faulty.proxy.reset()

    answer = await _answered(partial(faulty.claim, intent_id, "theirs"))

    assert isinstance(answer, Busy)


async def test_a_slow_store_is_waited_for(faulty: FaultyStore, intent_id: str) -> None:
    faulty.proxy.latency_s = 0.05

    assert isinstance(await faulty.claim(intent_id, "ours"), Claimed)
