"""The load of the effector's benchmarks: intents with 1 KiB of arguments, and a bare loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.effector.backends.memory_log import MemoryTopic
from beam_agents.effector.ports import DedupStore, Headers
from beam_agents.effector.service import EffectorService
from beam_agents.intents.topics import type_header
from beam_agents.tools import IntentInfo, ToolRegistry, encode_result, tool
from beam_agents.tools.canonical_json import canonical_json

ARGUMENTS = {
    "account": "acct_4411",
    "amount_cents": 1249,
    "currency": "EUR",
    "memo": "for the order of last week, with thanks; " * 23,
}
HEADERS: Headers = (type_header(ToolIntent),)


async def do_nothing(
    account: str, amount_cents: int, currency: str, memo: str, *, intent: IntentInfo | None
) -> dict[str, Any]:
    """Return at once."""
    return {"account": account, "charged": amount_cents}


@tool(side_effect=True)
async def charge(
    account: str, amount_cents: int, currency: str, memo: str, *, intent: IntentInfo
) -> dict[str, Any]:
    """Charge an account."""
    return await do_nothing(account, amount_cents, currency, memo, intent=intent)


TOOLS = ToolRegistry(charge)


def intents(
    number: int, *, keys: int, tool_name: str = "charge", arguments: object = ARGUMENTS
) -> list[ToolIntent]:
    """Make intents whose keys take turns; no store has seen them."""
    run = uuid4().hex[:16]
    now_ms = time.time_ns() // 1_000_000
    args_json = canonical_json(arguments).decode()
    return [
        ToolIntent(
            intent_id=f"{run}{index:016x}",
            namespace="bench",
            entity_key=b"key-%d" % (index % keys),
            seq=index,
            kind=ToolIntent.TOOL,
            tool_name=tool_name,
            args_json=args_json,
            origin_digest=b"o" * 16,
            trace_id=b"t" * 16,
            created_at_ms=now_ms,
            expires_at_ms=now_ms + 3_600_000,
        )
        for index in range(number)
    ]


def topic_of(messages: Iterable[ToolIntent], *, partitions: int = 1) -> MemoryTopic:
    """Put intents on a topic."""
    topic = MemoryTopic("intents", partitions=partitions)
    for message in messages:
        topic.append(key=message.entity_key, value=message.SerializeToString(), headers=HEADERS)
    return topic


class CountingSink:
    """Takes results, and tells when a number of them is there."""

    def __init__(self, expected: int) -> None:
        self.left = expected
        self.complete = asyncio.Event()

    async def open(self) -> None:
        """Nothing to connect to."""

    async def publish(self, *, key: bytes, value: bytes, headers: Headers = ()) -> None:
        """Count a result."""
        self.left -= 1
        if not self.left:
            self.complete.set()

    async def check(self) -> None:
        """Always well."""

    async def aclose(self) -> None:
        """Nothing to close."""


@asynccontextmanager
async def running(service: EffectorService) -> AsyncIterator[asyncio.Future[None]]:
    """Run a service; fails if the service does."""
    run = asyncio.ensure_future(service.run())
    try:
        yield run
    finally:
        service.stop()
        await run


async def work_off(
    topic: MemoryTopic, store: DedupStore, registry: ToolRegistry, *, expected: int
) -> float:
    """Run the engine until it has published so many results; return the CPU time, in seconds."""
    sink = CountingSink(expected)
    service = EffectorService(
        registry=registry, source=topic.source(uuid4().hex), results=sink, store=store
    )
    before = time.process_time()
    async with running(service) as run:
        complete = asyncio.ensure_future(sink.complete.wait())
        waiting: set[asyncio.Future[Any]] = {run, complete}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not complete.done():  # the service has failed, which leaving it will tell
            complete.cancel()
    return time.process_time() - before


class _Arguments(TypedDict):
    __pydantic_config__ = ConfigDict(strict=True)  # type: ignore[misc]

    account: str
    amount_cents: int
    currency: str
    memo: str


_ADAPTER = TypeAdapter(_Arguments)


async def floor(topic: MemoryTopic) -> float:
    """Do the least that a tool's call needs, in a bare loop; return the CPU time, in seconds."""
    results: list[bytes] = []
    before = time.process_time()
    for record in topic.partitions[0]:
        intent = ToolIntent.FromString(record.value or b"")
        arguments = _ADAPTER.validate_json(intent.args_json)
        value = await do_nothing(**arguments, intent=None)  # type: ignore[misc]
        payload = encode_result(value)
        result = ToolResult(
            intent_id=intent.intent_id,
            entity_key=intent.entity_key,
            seq=intent.seq,
            tool_name=intent.tool_name,
            trace_id=intent.trace_id,
            namespace=intent.namespace,
            status=ToolResult.OK,
            payload=payload,
        )
        results.append(result.SerializeToString())
    return time.process_time() - before
