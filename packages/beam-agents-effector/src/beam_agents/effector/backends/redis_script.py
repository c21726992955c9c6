"""Runs the dedup script on a Redis server: the calls of one turn in one round trip."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha1
from importlib.resources import files
from typing import Any, TypeAlias

from redis.asyncio import Redis
from redis.exceptions import NoScriptError, ReadOnlyError, RedisError, ResponseError

from beam_agents.effector.backends.turn_batch import TurnBatch
from beam_agents.effector.ports import StoreUnavailable

_SOURCE = files(__package__).joinpath("redis_store.lua").read_bytes()
_SHA = sha1(_SOURCE, usedforsecurity=False).hexdigest()

# Enough to keep a server busy; a stalled one meets no more connections than these.
_ROUND_TRIPS_IN_FLIGHT = 4

_Call: TypeAlias = "tuple[str | bytes | int, ...]"


class RedisScript:
    """The script, and the one way that its calls take to the server.

    Args:
        client: Must not retry by itself: whether a call is repeated is for the
            protocol to say, which repeats a claim only under its token.
        name: The server in messages, without credentials.
        call_timeout_ms: After this long a call fails; half of it for a place in
            a round trip, half for the trip.
    """

    def __init__(self, client: Redis, name: str, call_timeout_ms: int) -> None:
        self._client = client
        self._name = name
        self._timeout_s = call_timeout_ms / 2 / 1000
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
        if any(_is_read_only(reply) for reply in replies):
            # Demoted by a failover: the same address may by now lead to the new primary (B66).
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
        replies: list[object] = await pipeline.execute(raise_on_error=False)
        return replies

    def _unavailable(self, error: BaseException) -> StoreUnavailable:
        reason = str(error) or f"no answer within {self._timeout_s:g} s"
        return StoreUnavailable(f"dedup store {self._name}: {reason}")


def _is_read_only(reply: object) -> bool:
    # Before version 7, a script's error wraps that of the command in it.
    return isinstance(reply, ReadOnlyError) or (
        isinstance(reply, ResponseError) and "READONLY" in str(reply)
    )
