"""`redis://` and `rediss://`: a dedup store judged inside Redis, by the server's clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from redis.asyncio import ConnectionPool, Redis, RedisCluster
from redis.asyncio.connection import SSLConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from beam_agents.effector.backends.redis_parameters import RedisParameters
from beam_agents.effector.backends.redis_script import RedisClient, RedisScript
from beam_agents.effector.dedup import RESULT_TTL_MS, UnreadableRecord, clamp_ms, require_token
from beam_agents.effector.ports import (
    Busy,
    Claim,
    ClaimAnswer,
    Claimed,
    ClaimLost,
    Clock,
    CompleteAnswer,
    Completed,
    Conflict,
    DedupRecord,
    Expired,
    RefusalAnswer,
    Stored,
    Superseded,
)

_Reply: TypeAlias = Any  # what the script returned: an int, None, or a list that begins with a name

_ANSWERS: dict[bytes, Callable[..., object]] = {
    b"busy": Busy,
    b"completed": Completed,
    b"conflict": Conflict,
    b"expired": lambda gone: Expired(record_may_be_gone=bool(gone)),
    b"lost": ClaimLost,
    b"stored": Stored,
    b"superseded": Superseded,
}


def _answer(reply: _Reply) -> object:
    name, *values = reply
    return _ANSWERS[name](*values)


class RedisStore:
    """Keeps each record under a key of its own, and lets a script judge it.

    Args:
        url: `redis://host:port/db` or `rediss://…`. With `?cluster=true` the host is any
            node of a Redis Cluster; with `?wait_replicas=N` a call counts as answered
            only once N replicas have what it wrote.
        result_ttl_ms: How long a record is kept, counted from its last claim or result.
        username: ACL user; goes before one in the URL, which others can see.
        password: Likewise.
        ca_file: PEM file of the authority that signed a `rediss` server's certificate.
        call_timeout_ms: After this long a call raises `StoreUnavailable`.
        key_prefix: What every key begins with.
        clock_override: For tests that move time: judge by this clock, not by the server's.
            Workers with clocks of their own would disagree about leases.
    """

    def __init__(
        self,
        url: str,
        *,
        result_ttl_ms: int = RESULT_TTL_MS,
        username: str | None = None,
        password: str | None = None,
        ca_file: str | None = None,
        call_timeout_ms: int = 5_000,
        key_prefix: str = "beam-agents:",
        clock_override: Clock | None = None,
    ) -> None:
        self._result_ttl_ms = result_ttl_ms
        self._key_prefix = key_prefix
        self._clock_override = clock_override
        parameters = RedisParameters.of(url)
        options = _connection_options(url.partition("?")[0], username, password, ca_file)
        name = f"{url.partition(':')[0]}://{options.get('host')}:{options.get('port', 6379)}"
        client = _client(options, in_cluster=parameters.cluster)
        self._script = RedisScript(client, name, call_timeout_ms, parameters.wait_replicas)

    async def open(self) -> None:
        """Connect, and check that the server runs the script."""
        await self.lookup("")

    async def aclose(self) -> None:
        """Finish the calls that were made, and disconnect."""
        await self._script.aclose()

    async def now_ms(self) -> int:
        """Ask the server its clock."""
        if self._clock_override:
            return self._clock_override.now_ms()
        return await self._script.time_ms()

    async def claim(
        self,
        intent_id: str,
        fingerprint: bytes,
        token: str,
        *,
        lease_ms: int,
        expires_at_ms: int,
    ) -> ClaimAnswer:
        """Ask for the intent."""
        require_token(token)
        reply = await self._judge(
            "claim", intent_id, fingerprint, token, lease_ms, clamp_ms(expires_at_ms)
        )
        if reply[0] == b"claimed":
            return Claimed(Claim(intent_id, token, reply[1]), invoked_before=bool(reply[2]))
        return cast("ClaimAnswer", _answer(reply))

    async def mark_invoked(self, claim: Claim) -> bool:
        """Record that the tool is about to be called."""
        return bool(await self._judge("mark_invoked", claim.intent_id, claim.token, claim.attempt))

    async def renew(self, claims: Sequence[Claim], *, lease_ms: int) -> Sequence[Claim]:
        """Extend the leases, in one round trip; return the claims that are lost."""
        replies = await asyncio.gather(
            *(
                self._call(
                    "renew", f"intent:{claim.intent_id}", claim.token, claim.attempt, lease_ms
                )
                for claim in claims
            )
        )
        # An unreadable record is not the one that we wrote: a newer worker took over.
        return [claim for claim, reply in zip(claims, replies, strict=True) if reply != 1]

    async def complete(
        self, claim: Claim, fingerprint: bytes, result: bytes, *, expires_at_ms: int
    ) -> CompleteAnswer:
        """Store the terminal result, if the claim still holds."""
        reply = await self._judge(
            "complete",
            claim.intent_id,
            claim.token,
            claim.attempt,
            fingerprint,
            result,
            clamp_ms(expires_at_ms),
        )
        if reply == [b"stored"]:
            return Stored(result)
        return cast("CompleteAnswer", _answer(reply))

    async def record_refusal(
        self,
        intent_id: str,
        fingerprint: bytes,
        *,
        if_never_claimed: bytes,
        if_claimed: bytes,
        expires_at_ms: int,
    ) -> RefusalAnswer:
        """Store a terminal result without a claim."""
        reply = await self._judge(
            "record_refusal",
            intent_id,
            fingerprint,
            if_never_claimed,
            if_claimed,
            clamp_ms(expires_at_ms),
        )
        if reply[0] == b"stored":
            return Stored(if_claimed if reply[1] else if_never_claimed)
        return cast("RefusalAnswer", _answer(reply))

    async def release(self, claim: Claim) -> bool:
        """Hand the claim back before its tool was called."""
        return bool(await self._judge("release", claim.intent_id, claim.token, claim.attempt))

    async def redeem(self, grant_id: str, intent_id: str, *, keep_until_ms: int) -> bool:
        """Use an approval grant."""
        reply = await self._call("redeem", f"grant:{grant_id}", intent_id, clamp_ms(keep_until_ms))
        return bool(_readable(grant_id, reply))

    async def lookup(self, intent_id: str) -> DedupRecord | None:
        """Read a record, for operators. Changes nothing."""
        reply = await self._judge("lookup", intent_id)
        if reply is None:
            return None
        _, fingerprint, attempt, token, lease_until_ms, invoked, result, keep_until_ms = reply
        marks = tuple(int(mark) for mark in invoked.split(b",") if mark)
        return DedupRecord(
            fingerprint, attempt, token.decode(), lease_until_ms, marks, result, keep_until_ms
        )

    async def _judge(self, operation: str, intent_id: str, *arguments: str | bytes | int) -> _Reply:
        reply = await self._call(operation, f"intent:{intent_id}", *arguments)
        return _readable(intent_id, reply)

    def _call(
        self, operation: str, key: str, *arguments: str | bytes | int
    ) -> asyncio.Future[_Reply]:
        now_ms = self._clock_override.now_ms() if self._clock_override else ""
        return self._script.call(
            self._key_prefix + key, operation, now_ms, self._result_ttl_ms, *arguments
        )


def _readable(key: str, reply: _Reply) -> _Reply:
    if isinstance(reply, list) and reply[0] == b"unreadable":
        raise UnreadableRecord(key, reply[1])
    return reply


def _client(options: dict[str, Any], *, in_cluster: bool) -> RedisClient:
    if not in_cluster:
        return Redis.from_pool(ConnectionPool(**options))
    with_tls = options.pop("connection_class", None) is SSLConnection
    return RedisCluster(ssl=with_tls, **options)


def _connection_options(
    url: str, username: str | None, password: str | None, ca_file: str | None
) -> dict[str, Any]:
    options: dict[str, Any] = {
        # The protocol repeats calls, and knows which may be: see RedisScript.
        "retry": Retry(NoBackoff(), 0),
        "retry_on_error": [],
        "protocol": 2,  # every server and proxy speaks it, and nothing here needs 3
        **parse_url(url),
    }
    if username:
        options["username"] = username
    if password:
        options["password"] = password
    if ca_file:
        if not url.startswith("rediss:"):
            raise ValueError("a CA file is for TLS: write the Redis URL as 'rediss://…'")
        options["ssl_ca_certs"] = ca_file
    if url.startswith("rediss:"):
        options.setdefault("ssl_check_hostname", True)  # older clients left it out
    return options
