"""Do keys of one partition run side by side, and does a stuck one hold up the others?"""

from __future__ import annotations

import asyncio
import time
from statistics import median, quantiles

from effector_load import CountingSink, intents, running, topic_of
from gates import Row, options, report

from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.garbage import collect_seldom
from beam_agents.effector.service import EffectorService
from beam_agents.tools import IntentInfo, ToolRegistry, tool

STUCK_S = 30.0
WAIT_S = 0.010


@tool(side_effect=True)
async def wait(*, intent: IntentInfo) -> str:
    """Wait 10 ms."""
    await asyncio.sleep(WAIT_S)
    return "done"


@tool(side_effect=True, timeout_ms=60_000)
async def hang(*, intent: IntentInfo) -> str:
    """Be stuck."""
    await asyncio.sleep(STUCK_S)
    return "done"


class TimedSink(CountingSink):
    """Notes when the result of each key came."""

    def __init__(self, expected: int) -> None:
        super().__init__(expected)
        self.arrived: list[float] = []

    async def publish(self, *, key: bytes, value: bytes, headers: object = ()) -> None:
        """Note the time."""
        self.arrived.append(time.perf_counter())
        await super().publish(key=key, value=value)


async def rate(keys: int, each: int) -> float:
    """Return how many intents a second are done."""
    topic = topic_of(intents(keys * each, keys=keys, tool_name="wait", arguments={}))
    sink = CountingSink(keys * each)
    service = EffectorService(
        registry=ToolRegistry(wait), source=topic.source(), results=sink, store=MemoryStore()
    )
    began = time.perf_counter()
    async with running(service):
        await asyncio.wait_for(sink.complete.wait(), 60)
        return keys * each / (time.perf_counter() - began)


async def latencies(*, stuck: bool) -> list[float]:
    """Return how long, in ms, each of 999 healthy keys waited for its result."""
    healthy = intents(1_000, keys=1_000, tool_name="wait", arguments={})[1:]
    topic = topic_of(intents(1, keys=1_000, tool_name="hang", arguments={}) if stuck else ())
    sink = TimedSink(999)
    service = EffectorService(
        registry=ToolRegistry(wait, hang),
        source=topic.source(),
        results=sink,
        store=MemoryStore(),
    )
    sent: list[float] = []
    run = asyncio.ensure_future(service.run())
    for message in healthy:
        sent.append(time.perf_counter())
        topic.append(key=message.entity_key, value=message.SerializeToString())
        await asyncio.sleep(0.001)
    await asyncio.wait_for(sink.complete.wait(), 20)
    service.stop()
    service.stop()  # the stuck tool is not waited for
    await run
    return [(end - start) * 1000 for start, end in zip(sent, sink.arrived, strict=True)]


async def rows(each: int, rounds: int) -> list[Row]:
    pairs = [(await rate(1, each), await rate(64, each)) for _ in range(rounds)]
    serial, parallel = (median(rates) for rates in zip(*pairs, strict=True))
    without: list[float] = []
    beside: list[float] = []
    for _ in range(rounds):
        without += await latencies(stuck=False)
        beside += await latencies(stuck=True)
    p99_without, p99_beside = (quantiles(times, n=100)[98] for times in (without, beside))
    return [
        Row(
            "64 keys in one partition, 10 ms tool",
            parallel / serial / 64,
            0.8,
            0.95,
            f"{parallel:.0f} a second, serially {serial:.0f}",
        ),
        Row(
            "one key stuck beside 999: p50",
            median(beside) / median(without),
            1.2,
            1.0,
            f"{median(beside):.1f} ms, without it {median(without):.1f} ms",
            at_least=False,
        ),
        Row(
            "one key stuck beside 999: p99, ms",
            p99_beside,
            1.5 * p99_without + 5,
            p99_without,
            f"without it {p99_without:.1f} ms",
            at_least=False,
        ),
    ]


if __name__ == "__main__":
    parser = options("Lanes: parallel across keys, and none held up by another")
    parser.add_argument("--each", type=int, default=50, help="how many intents a key")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    collect_seldom()
    report(parser.description or "", asyncio.run(rows(args.each, args.rounds)), args)
