"""How long does a result take, beside a bare loop from topic to topic, at 500 intents a second?

On Kafka and Redis, with the effector as a process of its own and a tool that does nothing.
Needs BEAM_AGENTS_TEST_KAFKA, such as `127.0.0.1:9092`, and BEAM_AGENTS_TEST_REDIS. An
intent's time counts from when it was due, so that a late sender hides nothing; the first
second is left out.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from statistics import quantiles

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord
from effector_hosts import Follower, Hosts, producer
from effector_load import intents
from gates import Row, options, report, server

from beam_agents._protos import ToolIntent, ToolResult

RATE = 500
KEYS = 1_000
WARMING_S = 1


async def answered_ms(hosts: Hosts, load: list[ToolIntent]) -> list[float]:
    """Send intents at the rate; return how long each result took, in ms."""
    due_s: dict[str, float] = {}
    took_ms: list[float] = []
    complete = asyncio.Event()

    def seen(record: ConsumerRecord) -> None:
        intent_id = ToolResult.FromString(record.value).intent_id
        took_ms.append((time.perf_counter() - due_s[intent_id]) * 1_000)
        if len(took_ms) == len(load):
            complete.set()

    sender = producer(hosts.kafka)
    async with sender, Follower(hosts.kafka, hosts.results, seen):
        began_s = time.perf_counter() + 0.1
        for number, intent in enumerate(load):
            due_s[intent.intent_id] = at_s = began_s + number / RATE
            await asyncio.sleep(max(0.0, at_s - time.perf_counter()))
            await sender.send(hosts.intents, intent.SerializeToString(), key=intent.entity_key)
        await asyncio.wait_for(complete.wait(), 30)
    return took_ms[WARMING_S * RATE :]


@asynccontextmanager
async def bare_loop(hosts: Hosts) -> AsyncIterator[None]:
    """Answer each intent from topic to topic, with no store and no tool."""
    reader = AIOKafkaConsumer(
        hosts.intents, bootstrap_servers=hosts.kafka, auto_offset_reset="earliest"
    )
    writer = producer(hosts.kafka)
    async with reader, writer:
        loop = asyncio.ensure_future(_echo(reader, writer, hosts.results))
        yield
        loop.cancel()
        with suppress(asyncio.CancelledError):
            await loop


async def _echo(reader: AIOKafkaConsumer, writer: AIOKafkaProducer, topic: str) -> None:
    async for record in reader:
        intent = ToolIntent.FromString(record.value)
        result = ToolResult(intent_id=intent.intent_id, entity_key=intent.entity_key)
        await writer.send(topic, result.SerializeToString(), key=intent.entity_key)


async def rows(kafka: str, redis: str, seconds: int) -> list[Row]:
    load = intents((WARMING_S + seconds) * RATE, keys=KEYS)
    async with Hosts(kafka, redis, "effector_load:TOOLS") as hosts, bare_loop(hosts):
        floor = quantiles(await answered_ms(hosts, load), n=100)
    async with Hosts(kafka, redis, "effector_load:TOOLS") as hosts:
        hosts.start()
        await hosts.serving(1)
        ours = quantiles(await answered_ms(hosts, load), n=100)
    return [
        Row(
            f"added latency at {RATE} a second: p{percent}, ms",
            ours[percent - 1],
            None,
            aim,
            f"a bare loop from topic to topic: {floor[percent - 1]:.1f} ms",
            at_least=False,
        )
        for percent, aim in ((50, 2.0), (99, 10.0))
    ]


if __name__ == "__main__":
    parser = options("What the effector adds to its tool's time, on Kafka and Redis")
    parser.add_argument("--seconds", type=int, default=10)
    args = parser.parse_args()
    kafka, redis = (server(parser, f"BEAM_AGENTS_TEST_{name}") for name in ("KAFKA", "REDIS"))
    report(parser.description or "", asyncio.run(rows(kafka, redis, args.seconds)), args)
