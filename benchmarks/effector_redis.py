"""How much CPU time does the engine take on Redis, beside a client that makes the same calls?

Needs BEAM_AGENTS_TEST_REDIS, such as `redis://127.0.0.1:6379/0`. Both sides use the client
as it is installed: its optional parser in C, hiredis, makes the bare client faster by more.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from importlib.resources import files
from uuid import uuid4

from effector_load import charge, intents, topic_of, work_off
from gates import Row, options, paired, report, server
from redis.asyncio import Redis
from redis.utils import HIREDIS_AVAILABLE

from beam_agents.effector.backends.memory_log import MemoryTopic
from beam_agents.effector.backends.redis_store import RedisStore
from beam_agents.effector.garbage import collect_seldom
from beam_agents.tools import ToolRegistry

SCRIPT = files("beam_agents.effector.backends").joinpath("redis_store.lua").read_bytes()
PIPELINE = 200
TTL_MS, LEASE_MS = 60_000, 30_000


async def engine(url: str, topic: MemoryTopic, registry: ToolRegistry) -> float:
    store = RedisStore(url, key_prefix=f"bench-{uuid4().hex}:", result_ttl_ms=TTL_MS)
    return await work_off(topic, store, registry, expected=len(topic.partitions[0]))


async def bare(url: str, number: int) -> float:
    """Claim and complete every intent, and do nothing else; return the CPU time, in seconds."""
    client = Redis.from_url(url, protocol=2)
    sha = await client.script_load(SCRIPT)
    prefix, result = f"bench-{uuid4().hex}:", b"r" * 200
    deadline_ms = time.time_ns() // 1_000_000 + 3_600_000
    before = time.process_time()
    for start in range(0, number, PIPELINE):
        keys = [f"{prefix}intent:{index}" for index in range(start, min(start + PIPELINE, number))]
        pipeline = client.pipeline(transaction=False)
        for key in keys:
            claim = ("claim", "", TTL_MS, b"f" * 32, "token", LEASE_MS, deadline_ms)
            pipeline.execute_command("EVALSHA", sha, 1, key, *claim)
        claimed = await pipeline.execute()
        assert all(reply[0] == b"claimed" for reply in claimed)
        pipeline = client.pipeline(transaction=False)
        for key in keys:
            complete = ("complete", "", TTL_MS, "token", 1, b"f" * 32, result, deadline_ms)
            pipeline.execute_command("EVALSHA", sha, 1, key, *complete)
        assert all(reply == [b"stored"] for reply in await pipeline.execute())
    spent = time.process_time() - before
    await client.aclose()
    return spent


async def rows(url: str, number: int, rounds: int) -> list[Row]:
    topic, registry = topic_of(intents(number, keys=1_000)), ToolRegistry(charge)
    ours, least = await paired(
        partial(engine, url, topic, registry), partial(bare, url, number), rounds=rounds
    )
    reader = "hiredis" if HIREDIS_AVAILABLE else "redis-py's own reader"
    us, least_us = (1e6 * spent / number for spent in (ours, least))
    note = f"{us:.0f} us beside {least_us:.0f} us an intent, with {reader}"
    return [Row("Redis store, memory bus", least / ours, 0.3, 0.4, note)]


if __name__ == "__main__":
    parser = options("The engine's rate on Redis, as a part of a bare client's")
    parser.add_argument("--number", type=int, default=5_000, help="how many intents")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    collect_seldom()
    redis = server(parser, "BEAM_AGENTS_TEST_REDIS")
    report(parser.description or "", asyncio.run(rows(redis, args.number, args.rounds)), args)
