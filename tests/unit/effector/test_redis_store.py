"""What the Redis store makes of servers that refuse, vanish or stall."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from beam_agents.effector.backends.redis_store import RedisStore
from beam_agents.effector.ports import Claim, ClaimAnswer, Claimed, StoreUnavailable
from tests.unit.effector.fake_redis import Command, fake_redis

CLAIMED = "*3\r\n$7\r\nclaimed\r\n:1\r\n:0\r\n"
NOTHING = "$-1\r\n"


@asynccontextmanager
async def opened(
    url: str, *, call_timeout_ms: int = 60_000, **options: str
) -> AsyncIterator[RedisStore]:
    store = RedisStore(
        url,
        call_timeout_ms=call_timeout_ms,
        username=options.get("username"),
        password=options.get("password"),
    )
    try:
        yield store
    finally:
        await store.aclose()


async def claim(store: RedisStore) -> ClaimAnswer:
    return await store.claim("i", b"f" * 32, "token", lease_ms=1_000, expires_at_ms=2**42)


def in_turn(*replies: str | None) -> Callable[[Command], str | None]:
    remaining = list(replies)
    return lambda command: remaining.pop(0)


@pytest.mark.parametrize(
    "refusal",
    [
        "READONLY You can't write against a read only replica.",
        "LOADING Redis is loading the dataset in memory",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "MISCONF Redis is configured to save RDB snapshots, but it's unable to persist",
        "CLUSTERDOWN The cluster is down",
        "BUSY Redis is busy running a script.",
        "NOAUTH Authentication required.",
        "NOPERM this user has no permissions to run the 'evalsha' command",
        "WRONGTYPE Operation against a key holding the wrong kind of value",
        "ERR user_script:1: a bug",
    ],
)
async def test_a_server_that_refuses_is_unavailable_and_says_why(refusal: str) -> None:
    async with fake_redis(in_turn(f"-{refusal}\r\n")) as server, opened(server.url) as store:
        with pytest.raises(StoreUnavailable) as caught:
            await claim(store)

    assert refusal.split(maxsplit=1)[1] in str(caught.value)


async def test_one_refused_call_fails_alone() -> None:
    answers = in_turn(CLAIMED, "-OOM command not allowed\r\n", CLAIMED)
    async with fake_redis(answers) as server, opened(server.url) as store:
        first, second, third = await asyncio.gather(
            claim(store), claim(store), claim(store), return_exceptions=True
        )

    assert isinstance(first, Claimed)
    assert isinstance(second, StoreUnavailable)
    assert isinstance(third, Claimed)


async def test_a_call_whose_reply_is_lost_is_not_sent_again() -> None:
    async with fake_redis(in_turn(None)) as server, opened(server.url) as store:
        with pytest.raises(StoreUnavailable):
            await claim(store)

    assert len(server.named(b"EVALSHA")) == 1


async def test_work_goes_on_after_a_lost_connection() -> None:
    async with fake_redis(in_turn(None, CLAIMED)) as server, opened(server.url) as store:
        with pytest.raises(StoreUnavailable):
            await claim(store)

        assert isinstance(await claim(store), Claimed)


async def test_a_server_that_does_not_answer_is_unavailable() -> None:
    async with (
        fake_redis(in_turn("")) as server,
        opened(server.url, call_timeout_ms=100) as store,
    ):
        with pytest.raises(StoreUnavailable, match=r"no answer within 0\.05 s"):
            await claim(store)


async def test_a_connection_that_owes_an_answer_is_not_used_again() -> None:
    async with (
        fake_redis(in_turn("", NOTHING)) as server,
        opened(server.url, call_timeout_ms=100) as store,
    ):
        with pytest.raises(StoreUnavailable):
            await claim(store)

        assert await store.lookup("i") is None
        assert server.connections == 2


async def test_a_caller_that_gives_up_does_not_disturb_the_others() -> None:
    async with fake_redis(in_turn(CLAIMED, CLAIMED)) as server, opened(server.url) as store:
        impatient, patient = (
            asyncio.ensure_future(claim(store)),
            asyncio.ensure_future(claim(store)),
        )
        await asyncio.sleep(0)
        impatient.cancel()

        assert isinstance(await patient, Claimed)


async def test_a_demoted_server_is_looked_up_afresh() -> None:
    answers = in_turn("-READONLY You can't write against a read only replica.\r\n", CLAIMED)
    async with fake_redis(answers) as server, opened(server.url) as store:
        with pytest.raises(StoreUnavailable):
            await claim(store)

        assert isinstance(await claim(store), Claimed)
        assert server.connections == 2


async def test_an_unknown_script_is_loaded_and_only_its_calls_are_repeated() -> None:
    noscript = "-NOSCRIPT No matching script.\r\n"
    answers = in_turn(CLAIMED, noscript, noscript, CLAIMED, CLAIMED)
    async with fake_redis(answers) as server, opened(server.url) as store:
        claims = await asyncio.gather(claim(store), claim(store), claim(store))

        assert all(isinstance(answer, Claimed) for answer in claims)
        assert len(server.named(b"SCRIPT")) == 1


async def test_the_calls_of_one_turn_travel_together() -> None:
    waiting = 0

    def answer_when_all_are_there(command: Command) -> str:
        nonlocal waiting
        waiting += 1
        return ":1\r\n" * 100 if waiting == 100 else ""

    async with fake_redis(answer_when_all_are_there) as server, opened(server.url) as store:
        claims = [Claim(f"i-{n}", "token", 1) for n in range(99)]
        lost, marked = await asyncio.gather(
            store.renew(claims, lease_ms=1_000), store.mark_invoked(Claim("j", "token", 1))
        )

        assert lost == []
        assert marked
        assert server.connections == 1


async def test_credentials_given_apart_go_before_those_in_the_url() -> None:
    async with fake_redis(in_turn(NOTHING)) as server:
        url = server.url.replace("//", "//seen:guessed@")
        async with opened(url, username="worker", password="s3cret") as store:
            await store.open()

        assert server.named(b"AUTH") == [[b"AUTH", b"worker", b"s3cret"]]


async def test_an_unreachable_server_is_named_without_credentials() -> None:
    async with opened("redis://user:s3cret@127.0.0.1:1/0") as store:
        with pytest.raises(StoreUnavailable) as caught:
            await store.open()

    assert "redis://127.0.0.1:1:" in str(caught.value)
    assert "s3cret" not in str(caught.value)


async def test_a_closed_store_is_unavailable() -> None:
    async with fake_redis(in_turn(NOTHING)) as server, opened(server.url) as store:
        await store.open()
    with pytest.raises(StoreUnavailable, match="closed"):
        await claim(store)


def test_a_ca_file_without_tls_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rediss://"):
        RedisStore("redis://127.0.0.1", ca_file=str(tmp_path / "ca.pem"))
