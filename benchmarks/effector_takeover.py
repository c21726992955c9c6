"""How long is an intent without its result when its worker is killed in the tool?

Two effector processes on Kafka and Redis; the one that runs the tool gets SIGKILL, and the
other must find out. Needs BEAM_AGENTS_TEST_KAFKA and BEAM_AGENTS_TEST_REDIS.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from aiokafka import ConsumerRecord
from effector_hosts import Follower, Hosts, kill, producer
from effector_load import intents
from gates import Row, options, report, server

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.tools import IntentInfo, ToolRegistry, tool

LEASE_MS = 5_000
SESSION_TIMEOUT_MS = 6_000  # the least that a broker allows where nobody configured it
PATIENCE_S = 60.0


@tool(side_effect=True, timeout_ms=600_000)
def hold(*, intent: IntentInfo) -> str:
    """Stay here at the first attempt."""
    Path(os.environ["BENCH_FOLDER"], intent.intent_id).write_text(str(os.getpid()))
    if intent.attempt == 1:
        time.sleep(3_600)
    return "done"


TOOLS = ToolRegistry(hold)


async def pid_inside(hosts: Hosts, intent: ToolIntent) -> int:
    """Wait until a tool runs; return where."""
    note = hosts.folder / intent.intent_id
    deadline = time.monotonic() + PATIENCE_S
    while not (note.exists() and note.read_text()):
        assert time.monotonic() < deadline, "no effector calls the tool"
        await asyncio.sleep(0.02)
    return int(note.read_text())


async def without_result_s(hosts: Hosts, intent: ToolIntent, *, wait_s: float) -> float:
    """Kill the worker that runs the tool, some time after its start; return the time since."""
    answered: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    def seen(record: ConsumerRecord) -> None:
        result = ToolResult.FromString(record.value)
        if result.intent_id == intent.intent_id and not answered.done():
            assert (result.status, result.attempt) == (ToolResult.OK, 2), result
            answered.set_result(time.perf_counter())

    sender = producer(hosts.kafka)
    async with sender, Follower(hosts.kafka, hosts.results, seen):
        await sender.send(hosts.intents, intent.SerializeToString(), key=intent.entity_key)
        pid = await pid_inside(hosts, intent)
        await asyncio.sleep(wait_s)
        killed_s = kill(pid)
        return await asyncio.wait_for(answered, PATIENCE_S) - killed_s


async def rows(kafka: str, redis: str, rounds: int) -> list[Row]:
    hosts = Hosts(
        kafka,
        redis,
        "effector_takeover:TOOLS",
        settings={"EFFECTOR_LEASE_MS": str(LEASE_MS), "EFFECTOR_MAX_CLOCK_SKEW_MS": "1000"},
        source_parameters=f"?session_timeout_ms={SESSION_TIMEOUT_MS}",
    )
    took_s: list[float] = []
    async with hosts:
        hosts.start()
        for number, intent in enumerate(
            intents(rounds, keys=rounds, tool_name="hold", arguments={})
        ):
            hosts.start()  # beside the survivor of the round before
            await hosts.serving(2)
            # Kills fall into different parts of the lease and of the session.
            took_s.append(await without_result_s(hosts, intent, wait_s=number * 0.7))
    gate_s = max(LEASE_MS, SESSION_TIMEOUT_MS) / 1_000 + 1
    note = f"lease {LEASE_MS} ms, session {SESSION_TIMEOUT_MS} ms; the longest of {rounds}"
    return [Row("SIGKILL in the tool: s", max(took_s), gate_s, gate_s, note, at_least=False)]


if __name__ == "__main__":
    parser = options("Until another worker has the result of one that was killed")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    kafka, redis = (server(parser, f"BEAM_AGENTS_TEST_{name}") for name in ("KAFKA", "REDIS"))
    report(parser.description or "", asyncio.run(rows(kafka, redis, args.rounds)), args)
