"""How much CPU time does the engine take beside a bare loop that calls the tool?

Memory log and store; once with every intent fresh, once with 99 redeliveries of each.
"""

from __future__ import annotations

import asyncio
from functools import partial

from effector_load import ARGUMENTS, charge, floor, intents, topic_of, work_off
from gates import Row, options, paired, report

from beam_agents.effector.backends.memory_log import MemoryTopic
from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.garbage import collect_seldom
from beam_agents.tools import ToolRegistry

assert 950 < len(str(ARGUMENTS)) < 1100, len(str(ARGUMENTS))
COPIES = 100


async def engine(topic: MemoryTopic, registry: ToolRegistry) -> float:
    return await work_off(topic, MemoryStore(), registry, expected=len(topic.partitions[0]))


async def row(case: str, topic: MemoryTopic, rounds: int, *, gate: float, aim: float) -> Row:
    registry = ToolRegistry(charge)
    ours, least = await paired(
        partial(engine, topic, registry), partial(floor, topic), rounds=rounds
    )
    number = len(topic.partitions[0])
    note = f"{ours / number * 1e6:.0f} us beside {least / number * 1e6:.1f} us an intent"
    return Row(case, least / ours, gate, aim, note)


async def rows(number: int, rounds: int) -> list[Row]:
    fresh = topic_of(intents(number, keys=1_000))
    again = topic_of(intents(number // COPIES, keys=1_000) * COPIES)
    return [
        await row("memory bus and store", fresh, rounds, gate=0.18, aim=0.25),
        await row("99 % redeliveries", again, rounds, gate=0.35, aim=0.5),
    ]


if __name__ == "__main__":
    parser = options("The engine's rate, as a part of the floor's")
    parser.add_argument("--number", type=int, default=10_000, help="how many intents")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    collect_seldom()
    report(parser.description or "", asyncio.run(rows(args.number, args.rounds)), args)
