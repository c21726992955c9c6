"""Runs the dedup script on a Redis server: the calls of one turn in one round trip."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha1
from importlib.resources import files
from typing import Any, TypeAlias

from redis.asyncio import Redis, RedisCluster
from redis.exceptions import NoScriptError, ReadOnlyError, RedisError, ResponseError

from beam_agents.effector.backends.turn_batch import TurnBatch
from beam_agents.effector.ports import StoreUnavailable

_SOURCE = files(__package__).joinpath("redis_store.lua").read_bytes()
_SHA = sha1(_SOURCE, usedforsecurity=False).hexdigest()

# Enough to keep a server busy; a stalled one meets no more connections than these.
_ROUND_TRIPS_IN_FLIGHT = 4

_Call: TypeAlias = "tuple[str | bytes | int, ...]"
RedisClient: TypeAlias = "Redis | RedisCluster"


class RedisScript:
    """The script, and the one way that its calls take to the server.

    Args:
        client: Must not retry by itself: whether a call is repeated is for the
            protocol to say, which repeats a claim only under its token.
        name: The server in messages, without credentials.
        call_timeout_ms: After this long a call fails; half of it for a place in
            a round trip, half for the trip.
        wait_replicas: A call counts as answered only once so many replicas have what
            it wrote.
    """

    def __init__(
        self, client: RedisClient, name: str, call_timeout_ms: int, wait_replicas: int = 0
    ) -> None:
        self._client = client
        self._name = name
        self._timeout_s = call_timeout_ms / 2 / 1000
        self._wait_replicas = wait_replicas
        self._batch: TurnBatch[_Call] = TurnBatch(
            self._round_trip, in_flight=_ROUND_TRIPS_IN_FLIGHT
        )

    def call(self, key: str, *arguments: str | bytes | int) -> asyncio.Future[Any]:
        """Run one operation on the record under `key`.

        Raises:
            StoreUnavailable: From the future. The operation may or may not have run.
        """
        return self._batch.submit((key, *arguments))

    async def time_ms(self) -> int:
        """Ask the server its clock."""
        try:
            seconds, micros = await asyncio.wait_for(self._client.time(), self._timeout_s)
        except (RedisError, OSError, asyncio.TimeoutError) as error:
            raise self._unavailable(error) from error
        return int(seconds) * 1000 + int(micros) // 1000

    async def aclose(self) -> None:
        """Wait for the calls that were made, and disconnect."""
        await self._batch.aclose()
        await self._client.aclose()

    async def _round_trip(self, calls: list[_Call]) -> list[object]:
        try:
            replies = await asyncio.wait_for(self._run(calls), self._timeout_s)
        except (RedisError, OSError, asyncio.TimeoutError) as error:
            raise self._unavailable(error) from error
        if isinstance(self._client, Redis) and any(map(_is_read_only, replies)):
            # Demoted by a failover: the same address may by now lead to the new primary (B66).
            # A cluster's client is told where to go, and goes there.
            await self._client.connection_pool.disconnect(inuse_connections=False)
        return [
            self._unavailable(reply) if isinstance(reply, RedisError) else reply
            for reply in replies
        ]

    async def _run(self, calls: list[_Call]) -> list[object]:
        replies = await self._evalsha(calls)
        unknown = [n for n, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if unknown:
            # A restarted or flushed server. It ran none of these, so sending them again is safe.
            await self._client.script_load(_SOURCE)
            again = await self._evalsha([calls[n] for n in unknown])
            for n, reply in zip(unknown, again, strict=True):
                replies[n] = reply
        return replies

    async def _evalsha(self, calls: Sequence[_Call]) -> list[object]:
        pipeline = self._client.pipeline(transaction=False)
        for call in calls:
            pipeline.execute_command("EVALSHA", _SHA, 1, *call)
        waits = await self._add_waits(pipeline, calls) if self._wait_replicas else 0
        replies: list[object] = await pipeline.execute(raise_on_error=False)
        if not waits:
            return replies
        self._require_replicas(replies[-waits:])
        return replies[:-waits]

    async def _add_waits(self, pipeline: Any, calls: Sequence[_Call]) -> int:
        """Ask each server that is written to for its replicas; return how many were asked.

        WAIT covers all that the server had written before it, whoever asked for that: so
        also the write of a call that is now repeated, and changes nothing any more.
        """
        wait = ("WAIT", self._wait_replicas, int(self._timeout_s * 1000))
        if isinstance(self._client, Redis):
            pipeline.execute_command(*wait)
            return 1
        await self._client.initialize()
        nodes = {self._client.get_node_from_key(str(key)) for key, *_ in calls}
        for node in nodes:
            pipeline.execute_command(*wait, target_nodes=node)
        return len(nodes)

    def _require_replicas(self, counts: Sequence[object]) -> None:
        for count in counts:
            if isinstance(count, RedisError):
                raise count
            if not isinstance(count, int) or count < self._wait_replicas:
                raise ResponseError(f"{count} of {self._wait_replicas} replicas have the write")

    def _unavailable(self, error: BaseException) -> StoreUnavailable:
        reason = str(error) or f"no answer within {self._timeout_s:g} s"
        return StoreUnavailable(f"dedup store {self._name}: {reason}")


def _is_read_only(reply: object) -> bool:
    # Before version 7, a script's error wraps that of the command in it.
    return isinstance(reply, ReadOnlyError) or (
        isinstance(reply, ResponseError) and "READONLY" in str(reply)
    )
