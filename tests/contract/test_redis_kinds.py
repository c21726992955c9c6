"""The Redis store on what is called Redis: Valkey, a cluster, TLS, users, replicas."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis, RedisCluster

from beam_agents.effector.backends.redis_store import RedisStore
from beam_agents.effector.ports import Claimed, Completed, DedupStore, Stored, StoreUnavailable
from beam_agents.effector.testing.store_bench import FINGERPRINT, LEASE_MS
from beam_agents.effector.testing.store_contract import DedupStoreContract
from compose.local.certificates import make_certificates
from tests.contract.redis_servers import (
    RedisServers,
    free_port,
    make_cluster,
    redis_program,
    redis_servers,
    valkey_program,
)
from tests.contract.test_redis_store import RedisBench

_FOR_EVER_MS = 10**13


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServers]:
    with redis_servers(tmp_path_factory.mktemp("redis")) as servers:
        yield servers


async def claim(store: DedupStore, intent_id: str = "intent", token: str = "t") -> Claimed:  # noqa: S107
    answer = await store.claim(
        intent_id, FINGERPRINT, token, lease_ms=LEASE_MS, expires_at_ms=_FOR_EVER_MS
    )
    assert isinstance(answer, Claimed)
    return answer


# --- Valkey ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def valkey_url(servers: RedisServers) -> str:
    return f"redis://127.0.0.1:{servers.start(valkey_program())}"


class TestValkeyStore(DedupStoreContract):
    @pytest.fixture
    async def bench(self, valkey_url: str) -> AsyncIterator[RedisBench]:
        bench = RedisBench(valkey_url)
        await bench.start()
        yield bench
        await bench.aclose()


# --- Redis Cluster ---------------------------------------------------------------------------


class ClusterBench(RedisBench):
    async def lose_records(self) -> None:
        host, _, port = self.url.partition("?")[0].rpartition("/")[2].rpartition(":")
        async with RedisCluster(host, int(port)) as cluster:
            await cluster.flushall(target_nodes=RedisCluster.PRIMARIES)


@pytest.fixture(scope="module")
def cluster_ports(servers: RedisServers) -> list[int]:
    cluster = ("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf")
    ports = [servers.start(redis_program(), *cluster) for _ in range(3)]
    make_cluster(ports)
    return ports


@pytest.fixture(scope="module")
def cluster_url(cluster_ports: list[int]) -> str:
    return f"redis://127.0.0.1:{cluster_ports[0]}?cluster=true"


class TestRedisClusterStore(DedupStoreContract):
    @pytest.fixture
    async def bench(self, cluster_url: str) -> AsyncIterator[RedisBench]:
        bench = ClusterBench(cluster_url)
        await bench.start()
        yield bench
        await bench.aclose()


async def test_records_are_spread_over_a_cluster(
    cluster_url: str, cluster_ports: list[int]
) -> None:
    store = RedisStore(cluster_url)
    await store.open()
    for number in range(50):
        await claim(store, f"intent-{number}")

    held = []
    for port in cluster_ports:
        async with Redis(port=port) as node:
            held.append(await node.dbsize())

    assert all(held)
    await store.aclose()


async def test_a_node_that_forgot_the_script_is_given_it_again(
    cluster_url: str, cluster_ports: list[int]
) -> None:
    store = RedisStore(cluster_url)
    await store.open()
    for port in cluster_ports:
        async with Redis(port=port) as node:
            await node.script_flush()

    for number in range(20):
        await claim(store, f"forgotten-{number}")

    await store.aclose()


# --- TLS and users ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    make_certificates(folder)
    return folder


@pytest.fixture(scope="module")
def tls_port(servers: RedisServers, tls: Path) -> int:
    port = free_port()
    return servers.start(
        redis_program(),
        *("--port", "0", "--tls-port", str(port), "--tls-auth-clients", "no"),
        *("--tls-cert-file", str(tls / "server.crt"), "--tls-key-file", str(tls / "server.key")),
        *("--tls-ca-cert-file", str(tls / "ca.crt")),
        port=port,
    )


async def test_a_server_is_trusted_by_its_authority(tls_port: int, tls: Path) -> None:
    store = RedisStore(f"rediss://127.0.0.1:{tls_port}", ca_file=str(tls / "ca.crt"))

    await store.open()

    await claim(store)
    await store.aclose()


async def test_a_server_of_an_unknown_authority_is_not_trusted(tls_port: int) -> None:
    store = RedisStore(f"rediss://127.0.0.1:{tls_port}")

    with pytest.raises(StoreUnavailable, match="certificate verify failed"):
        await store.open()

    await store.aclose()


# What the ACL user of an effector needs, and no more; docs/effector.md gives it to operators.
_RIGHTS = "~beam-agents:* -@all +evalsha +script|load +time +wait +hget +hmget +hset +del +pexpire"


@pytest.fixture(scope="module")
def guarded_url(servers: RedisServers) -> str:
    user = ("--user", "effector", "on", ">pass:word/1", *_RIGHTS.split())
    return f"redis://127.0.0.1:{servers.start(redis_program(), *user)}"


async def test_a_user_needs_the_rights_that_are_documented_and_no_more(guarded_url: str) -> None:
    store = RedisStore(guarded_url, username="effector", password="pass:word/1")
    await store.open()

    claimed = await claim(store)
    await store.mark_invoked(claimed.claim)
    await store.renew([claimed.claim], lease_ms=LEASE_MS)
    await store.redeem("grant", "intent", keep_until_ms=_FOR_EVER_MS)
    answer = await store.complete(claimed.claim, FINGERPRINT, b"result", expires_at_ms=_FOR_EVER_MS)

    assert answer == Stored(b"result")
    assert await store.now_ms() is not None
    await store.aclose()


async def test_a_wrong_password_is_told_without_it(guarded_url: str) -> None:
    store = RedisStore(guarded_url, username="effector", password="guess")

    with pytest.raises(StoreUnavailable, match="invalid username-password pair") as raised:
        await store.open()

    assert "guess" not in str(raised.value)
    await store.aclose()


# --- replicas --------------------------------------------------------------------------------


@pytest.fixture
async def replicated(tmp_path: Path) -> AsyncIterator[tuple[RedisServers, str]]:
    """A primary and one replica that is up to date."""
    with redis_servers(tmp_path) as servers:
        primary = servers.start(redis_program(), "--repl-diskless-sync-delay", "0")
        servers.start(redis_program(), "--replicaof", f"127.0.0.1 {primary}")
        async with Redis(port=primary) as redis:
            while await redis.wait(1, 100) < 1:
                await redis.set("beam-agents:warm-up", "1")
        yield servers, f"redis://127.0.0.1:{primary}?wait_replicas=1"


async def test_what_a_replica_has_is_acknowledged(replicated: tuple[RedisServers, str]) -> None:
    _, url = replicated
    store = RedisStore(url)
    await store.open()

    await claim(store)

    await store.aclose()


async def test_what_no_replica_has_is_not_acknowledged_nor_by_asking_again(
    replicated: tuple[RedisServers, str],
) -> None:
    servers, url = replicated
    store = RedisStore(url, call_timeout_ms=3_000)
    await store.open()
    claimed = await claim(store)
    end = (claimed.claim, FINGERPRINT, b"result")

    servers.pause(1)
    for _ in range(2):  # the second changes nothing on the primary, and must wait all the same
        with pytest.raises(StoreUnavailable):
            await store.complete(*end, expires_at_ms=_FOR_EVER_MS)
    servers.go_on(1)

    answer = None
    while answer is None:
        try:
            answer = await store.complete(*end, expires_at_ms=_FOR_EVER_MS)
        except StoreUnavailable:
            continue
    assert answer in (Stored(b"result"), Completed(b"result"))
    await store.aclose()
