"""`redis://` under the store contract, and what only a server can get wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from uuid import uuid4

import pytest
from hypothesis import given, settings
from redis.asyncio import Redis

from beam_agents.effector.backends.redis_store import RedisStore
from beam_agents.effector.dedup import UnreadableRecord
from beam_agents.effector.ports import Busy, Claim, Claimed, Completed, DedupRecord, DedupStore
from beam_agents.effector.testing.hand_clock import HandClock
from beam_agents.effector.testing.store_bench import (
    FINGERPRINT,
    HOUR_MS,
    LEASE_MS,
    RESULT,
    RESULT_TTL_MS,
    StoreBench,
)
from beam_agents.effector.testing.store_contract import DedupStoreContract
from tests.contract.store_benches import MemoryBench
from tests.contract.store_differential import Step, agree, step_sequences

START_MS = 1_700_000_000_000

# A record and a grant as release 0.1.0 wrote them: every later release must read them.
GOLDEN_RECORD: Mapping[str, str | bytes] = {
    "v": "1",
    "fp": FINGERPRINT,
    "attempt": "3",
    "token": "old-worker",
    "lease": str(START_MS + LEASE_MS),
    "invoked": "1,3",
    "keep": str(START_MS + RESULT_TTL_MS),
}
GOLDEN_GRANT: Mapping[str, str | bytes] = {
    "v": "1",
    "intent": "first",
    "keep": str(START_MS + HOUR_MS),
}


class RedisBench(StoreBench):
    """Moves time by a clock that overrides the server's; touches its own keys only."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._clock = HandClock(START_MS)
        self._prefix = f"test-{uuid4()}:"
        self._clients = [self._client()]
        super().__init__(self._clients[0])

    def _client(self) -> RedisStore:
        return RedisStore(
            self.url,
            result_ttl_ms=RESULT_TTL_MS,
            key_prefix=self._prefix,
            clock_override=self._clock,
            call_timeout_ms=60_000,  # a busy machine is no broken store
        )

    async def advance(self, ms: int) -> None:
        self._clock.advance(ms)

    async def another_client(self) -> DedupStore:
        client = self._client()
        await client.open()
        self._clients.append(client)
        return client

    async def lose_records(self) -> None:
        async with Redis.from_url(self.url) as redis:
            keys = [key async for key in redis.scan_iter(f"{self._prefix}*", count=10_000)]
            if keys:
                await redis.delete(*keys)

    async def write(self, key: str, fields: Mapping[str, str | bytes]) -> None:
        """Write a record as another release might have."""
        async with Redis.from_url(self.url) as redis:
            for name, value in fields.items():
                await redis.hset(self._prefix + key, name, value)

    async def read(self, key: str) -> Mapping[str | bytes, str | bytes]:
        """Read a record as it lies on the server."""
        async with Redis.from_url(self.url) as redis:
            return await redis.hgetall(self._prefix + key)

    async def now_ms(self) -> int:
        return self._clock.now_ms()

    async def aclose(self) -> None:
        await self.lose_records()
        for client in self._clients:
            await client.aclose()


@pytest.fixture
async def bench(redis_url: str) -> AsyncIterator[RedisBench]:
    bench = RedisBench(redis_url)
    await bench.start()
    yield bench
    await bench.aclose()


class TestRedisStore(DedupStoreContract):
    """The whole contract, on the bench above."""


@settings(max_examples=150)
@given(steps=step_sequences)
def test_the_script_answers_as_the_reference_does(redis_url: str, steps: list[Step]) -> None:
    async def compare() -> None:
        subject = RedisBench(redis_url)
        try:
            await agree(MemoryBench(), subject, steps)
        finally:
            await subject.aclose()

    asyncio.run(compare())


async def test_a_flushed_script_cache_is_not_noticed(bench: RedisBench, redis_url: str) -> None:
    claim = await bench.claimed("a")
    async with Redis.from_url(redis_url) as redis:
        await redis.script_flush()

    lost, answer = await asyncio.gather(
        bench.store.renew([claim], lease_ms=LEASE_MS), bench.claim("b")
    )

    assert lost == []
    assert isinstance(answer, Busy)


# --- the server's own clock ---


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[RedisStore]:
    """A store as it runs in production: time is the server's."""
    store = RedisStore(redis_url, key_prefix=f"test-{uuid4()}:", result_ttl_ms=1_000)
    await store.open()
    yield store
    await store.aclose()


async def test_leases_and_retention_are_counted_by_the_servers_clock(store: RedisStore) -> None:
    before_ms = await store.now_ms()
    await store.claim("i", FINGERPRINT, "a", lease_ms=LEASE_MS, expires_at_ms=before_ms + HOUR_MS)
    after_ms = await store.now_ms()

    record = await store.lookup("i")

    assert record is not None
    assert before_ms + LEASE_MS <= record.lease_until_ms <= after_ms + LEASE_MS
    assert record.keep_until_ms == before_ms + HOUR_MS + 600_000


async def test_a_lease_ends_as_the_servers_clock_moves_on(store: RedisStore) -> None:
    expires_at_ms = await store.now_ms() + HOUR_MS
    await store.claim("i", FINGERPRINT, "a", lease_ms=50, expires_at_ms=expires_at_ms)

    while not isinstance(
        answer := await store.claim(
            "i", FINGERPRINT, "b", lease_ms=LEASE_MS, expires_at_ms=expires_at_ms
        ),
        Claimed,
    ):
        assert isinstance(answer, Busy)
        await asyncio.sleep(answer.retry_after_ms / 1000)

    assert answer.claim.attempt == 2


async def test_the_server_frees_a_record_soon_after_its_end_and_not_before(
    redis_url: str, store: RedisStore
) -> None:
    expires_at_ms = await store.now_ms() + HOUR_MS
    await store.claim("i", FINGERPRINT, "a", lease_ms=50, expires_at_ms=expires_at_ms)
    await store.redeem("g", "i", keep_until_ms=expires_at_ms)

    async with Redis.from_url(redis_url) as redis:
        record_ends_ms = await redis.pexpiretime(f"{store._key_prefix}intent:i")
        grant_ends_ms = await redis.pexpiretime(f"{store._key_prefix}grant:g")

    assert expires_at_ms + 600_000 < record_ends_ms <= expires_at_ms + 602_000
    assert expires_at_ms < grant_ends_ms <= expires_at_ms + 2_000


# --- records of other releases ---


async def test_a_record_of_the_first_release_is_read(bench: RedisBench) -> None:
    await bench.write(f"intent:{bench.intent_id}", GOLDEN_RECORD)

    assert await bench.record() == DedupRecord(
        fingerprint=FINGERPRINT,
        attempt=3,
        token="old-worker",
        lease_until_ms=START_MS + LEASE_MS,
        invoked=(1, 3),
        result=None,
        keep_until_ms=START_MS + RESULT_TTL_MS,
    )
    await bench.let_lease_end()
    assert await bench.claim("b") == Claimed(Claim(bench.intent_id, "b", 4), True)


async def test_a_result_of_the_first_release_is_handed_out(bench: RedisBench) -> None:
    await bench.write(f"intent:{bench.intent_id}", {**GOLDEN_RECORD, "result": RESULT})

    assert await bench.claim("b") == Completed(RESULT)


async def test_a_grant_used_under_the_first_release_is_used(bench: RedisBench) -> None:
    await bench.write("grant:g", GOLDEN_GRANT)
    keep_until_ms = START_MS + HOUR_MS

    assert await bench.store.redeem("g", "first", keep_until_ms=keep_until_ms)
    assert not await bench.store.redeem("g", "second", keep_until_ms=keep_until_ms)


async def test_this_release_writes_what_the_first_one_wrote(bench: RedisBench) -> None:
    for token in ("a", "b", "old-worker"):
        claim = await bench.claimed(token)
        if token != "b":
            assert await bench.store.mark_invoked(claim)
        if token != "old-worker":
            await bench.let_lease_end()
    await bench.store.redeem("g", "first", keep_until_ms=START_MS + HOUR_MS)

    started_ms = await bench.now_ms()
    times = {"lease": started_ms + LEASE_MS, "keep": started_ms + RESULT_TTL_MS}
    golden = {**GOLDEN_RECORD, **{name: str(time_ms) for name, time_ms in times.items()}}
    assert await bench.read(f"intent:{bench.intent_id}") == _encoded(golden)
    assert await bench.read("grant:g") == _encoded(GOLDEN_GRANT)


def _encoded(fields: Mapping[str, str | bytes]) -> dict[bytes, bytes]:
    return {
        name.encode(): value if isinstance(value, bytes) else value.encode()
        for name, value in fields.items()
    }


async def test_a_record_of_a_newer_release_is_never_misread(bench: RedisBench) -> None:
    await bench.write(f"intent:{bench.intent_id}", {"v": "2", "layout": "another"})
    claim = Claim(bench.intent_id, "a", 1)

    for call in (
        bench.claim("a"),
        bench.store.mark_invoked(claim),
        bench.complete(claim),
        bench.refuse(),
        bench.store.release(claim),
        bench.store.lookup(bench.intent_id),
    ):
        with pytest.raises(UnreadableRecord, match="version 2"):
            await call


async def test_a_grant_of_a_newer_release_is_never_misread(bench: RedisBench) -> None:
    await bench.write("grant:g", {**GOLDEN_GRANT, "v": "2"})

    with pytest.raises(UnreadableRecord, match="version 2"):
        await bench.store.redeem("g", "first", keep_until_ms=START_MS + HOUR_MS)


async def test_a_claim_that_a_newer_release_took_over_is_lost_alone(bench: RedisBench) -> None:
    taken = await bench.claimed("a")
    held = await bench.claimed("a", intent_id=bench.intent_id + "-held")
    await bench.write(f"intent:{bench.intent_id}", {"v": "2"})

    assert await bench.store.renew([taken, held], lease_ms=LEASE_MS) == [taken]
