"""Can one process hold 10,000 tools that are all asleep for a second?"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from effector_load import CountingSink, intents, running, topic_of
from gates import Row, options, report

from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.config import EffectorOptions
from beam_agents.effector.garbage import collect_seldom
from beam_agents.effector.service import EffectorService
from beam_agents.tools import IntentInfo, ToolRegistry, tool


@tool(side_effect=True)
async def sleep(*, intent: IntentInfo) -> str:
    """Sleep a second."""
    await asyncio.sleep(1)
    return "awake"


def rss_mb() -> float:
    """Return how much of this process is in memory now."""
    line = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line
    )
    return int(line.split()[1]) / 1024


async def rows(number: int) -> list[Row]:
    topic = topic_of(intents(number, keys=number, tool_name="sleep", arguments={}))
    sink = CountingSink(number)
    service = EffectorService(
        registry=ToolRegistry(sleep),
        source=topic.source(),
        results=sink,
        store=MemoryStore(),
        options=EffectorOptions(max_in_flight=number, max_waiting=number),
    )
    before_mb, highest_mb, began = rss_mb(), rss_mb(), time.perf_counter()
    async with running(service):
        while not sink.complete.is_set():
            highest_mb = max(highest_mb, rss_mb())
            await asyncio.sleep(0.05)
        took_s = time.perf_counter() - began
    return [
        Row(f"{number:,} tools asleep for 1 s: s", took_s, 3.0, 2.0, "", at_least=False),
        Row(
            f"{number:,} tools asleep: MB more",
            highest_mb - before_mb,
            300.0,
            300.0,
            f"from {before_mb:.0f} MB",
            at_least=False,
        ),
    ]


if __name__ == "__main__":
    parser = options("Tools asleep in one process")
    parser.add_argument("--number", type=int, default=10_000, help="how many tools")
    args = parser.parse_args()
    collect_seldom()
    report(parser.description or "", asyncio.run(rows(args.number)), args)
