"""The chaos story: three effectors on Kafka and Redis while workers and servers are hurt.

What is hurt, in which order and for how long follows from a seed; how the processes
interleave does not. What the story leaves behind is judged by `beam-agents-effector audit`.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.intents import build_intent
from tests.fault_proxy import Fault, FaultProxy
from tests.integration import kafka_topics
from tests.integration.effectors import Effector, Effectors
from tests.integration.keyed_ledger import FOLDER_VARIABLE, ledger_of, payments_of
from tests.integration.private_servers import PrivateServers

KEYS = 100
GROUP = "chaos"
LEASE_MS = 5_000
# Longer than the lease, and than the group waits for a silent member.
BEYOND_THE_LEASE_S = 9.0
SESSION_TIMEOUT_MS = 6_000
ROUNDS_BEFORE_A_FAULT = 3

Action: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


@dataclass
class FaultLog:
    """Who was hurt when, as `audit --faults` reads it."""

    path: Path
    lines: list[str] = field(default_factory=list)

    def add(self, worker: Effector, from_ms: int, to_ms: int) -> None:
        line = {"worker": str(worker.pid), "from_ms": from_ms, "to_ms": to_ms}
        self.lines.append(json.dumps(line))
        self.path.write_text("\n".join([*self.lines, ""]))


@dataclass(frozen=True)
class Judgement:
    """What the audit said, with what else must be so in the end.

    Attributes:
        exit_code: Of the audit.
        told: Its report.
        intents: How many intents there were.
        payments: How many effects there are.
        exit_codes: Of the effectors that were stopped in the end.
    """

    exit_code: int
    told: str
    intents: int
    payments: int
    exit_codes: list[int]


class Chaos:
    """One run of the story.

    Args:
        folder: For servers, logs and ledgers.
        seed: Decides what is hurt when.
        rounds: How many intents each key has.
    """

    def __init__(self, folder: Path, *, seed: int, rounds: int) -> None:
        self._folder = folder
        self._random = random.Random(seed)  # noqa: S311 - a schedule, no secret
        self._namespace = uuid4().hex
        self._servers = PrivateServers.on_free_ports(folder / "servers")
        self._rounds = iter([self._round(seq) for seq in range(rounds)])
        self._total = rounds * KEYS
        self._faults = FaultLog(folder / "faults.jsonl")
        payments_of(folder).mkdir()
        self._hosts = f"127.0.0.1:{self._servers.kafka_port}"

    async def play(self) -> Judgement:
        async with self._running() as (healthy, proxied, proxies):
            self._healthy, self._proxied, self._proxies = healthy, proxied, proxies
            for each in (*healthy.started, *proxied.started):
                await self._works(each)
            for action in self._schedule():
                await self._ask(ROUNDS_BEFORE_A_FAULT)
                await asyncio.sleep(self._random.uniform(0.2, 1.5))
                _say(action.__name__)
                await action()
            await self._ask(self._total)
            await self._all_are_answered()
            await self._all_are_committed()
            exit_codes = [
                await fleet.stop(each) for fleet in (healthy, proxied) for each in fleet.running
            ]
            return await self._judged(exit_codes)

    def _schedule(self) -> list[Action]:
        actions: list[Action] = [
            self._kill_a_worker,
            self._kill_a_worker,
            self._stop_a_worker_beyond_its_lease,
            self._restart_redis,
            self._restart_the_broker,
            self._cut_a_worker_off,
        ]
        self._random.shuffle(actions)
        return actions

    # --- what is hurt ------------------------------------------------------------------------

    async def _kill_a_worker(self) -> None:
        fleet = self._random.choice([self._healthy, self._healthy, self._proxied])
        victim = self._random.choice(fleet.running)
        at_ms = _now_ms()
        victim.kill()
        self._faults.add(victim, at_ms, _now_ms())
        await asyncio.sleep(self._random.uniform(0.0, 2.0))
        await self._works(fleet.start())

    async def _stop_a_worker_beyond_its_lease(self) -> None:
        victim = self._random.choice(self._healthy.running)
        from_ms = _now_ms()
        victim.popen.send_signal(signal.SIGSTOP)
        await asyncio.sleep(BEYOND_THE_LEASE_S)
        victim.popen.send_signal(signal.SIGCONT)
        self._faults.add(victim, from_ms, _now_ms())

    async def _restart_redis(self) -> None:
        # Whoever cannot renew a lease stops its tool: all of them may be cut off.
        from_ms = _now_ms()
        await self._restart("redis")
        for each in (*self._healthy.running, *self._proxied.running):
            self._faults.add(each, from_ms, _now_ms())

    async def _restart_the_broker(self) -> None:
        # No excuse for a repeat: claims are the store's, and the store is well.
        await self._restart("kafka")

    async def _restart(self, name: str) -> None:
        self._servers.kill(name)
        await asyncio.sleep(self._random.uniform(0.0, 2.0))
        await self._servers.up(name)

    async def _cut_a_worker_off(self) -> None:
        [victim] = self._proxied.running
        from_ms = _now_ms()
        for proxy in self._proxies:
            proxy.fault = Fault.BLACKHOLE
        await asyncio.sleep(BEYOND_THE_LEASE_S)
        for proxy in self._proxies:
            proxy.fault = Fault.NONE
            proxy.reset()
        self._faults.add(victim, from_ms, _now_ms())

    # --- what goes on meanwhile --------------------------------------------------------------

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[tuple[Effectors, Effectors, list[FaultProxy]]]:
        """Start servers, proxies and effectors, and leave none behind."""
        kafka, redis = self._servers.kafka_port, self._servers.redis_port
        try:
            await asyncio.gather(self._servers.up("kafka"), self._servers.up("redis"))
            await kafka_topics.create_topics(self._hosts, "intents", "results", "dead-letters")
            async with (
                FaultProxy("127.0.0.1", redis) as to_redis,
                # The broker's listener behind a proxy, and where it tells clients to come to.
                FaultProxy("127.0.0.1", kafka + 5, listen_port=kafka + 6) as to_kafka,
            ):
                with (
                    self._fleet("healthy", self._hosts, redis) as healthy,
                    self._fleet("proxied", f"127.0.0.1:{to_kafka.port}", to_redis.port) as proxied,
                ):
                    for fleet in (healthy, healthy, proxied):
                        fleet.start()
                    yield healthy, proxied, [to_redis, to_kafka]
        finally:
            await self._servers.down()

    def _fleet(self, name: str, hosts: str, redis_port: int) -> Effectors:
        logs = self._folder / name
        logs.mkdir()
        return Effectors(
            {
                "EFFECTOR_REGISTRY": "tests.integration.keyed_ledger:TOOLS",
                "EFFECTOR_INTENTS_FROM": (
                    f"kafka://{hosts}/intents?session_timeout_ms={SESSION_TIMEOUT_MS}"
                ),
                "EFFECTOR_RESULTS_TO": f"kafka://{hosts}/results",
                "EFFECTOR_DEAD_LETTERS_TO": f"kafka://{hosts}/dead-letters",
                "EFFECTOR_DEDUP": f"redis://127.0.0.1:{redis_port}/0",
                "EFFECTOR_CONSUMER_GROUP": GROUP,
                "EFFECTOR_LEASE_MS": str(LEASE_MS),
                "EFFECTOR_MAX_CLOCK_SKEW_MS": "2000",
                "EFFECTOR_TOOL_TIMEOUT_MS": "60000",
                FOLDER_VARIABLE: str(self._folder),
            },
            logs=logs,
        )

    async def _works(self, worker: Effector) -> None:
        """Wait until a worker has partitions: one that finds no broker at its start ends."""

        def has_partitions() -> bool:
            return "assigned partitions: intents" in worker.log.read_text(errors="replace")

        await self._healthy.until(f"{worker.log.stem} has partitions", has_partitions)

    async def _ask(self, rounds: int) -> None:
        for _, intents in zip(range(rounds), self._rounds, strict=False):
            records = [(each.entity_key, each.SerializeToString()) for each in intents]
            await kafka_topics.publish(self._hosts, "intents", records)

    async def _all_are_answered(self) -> None:
        async with kafka_topics.TopicReader(self._hosts, "results") as results:

            async def answered() -> bool:
                records = await results.read_to_the_end()
                ids = {ToolResult.FromString(each.value).intent_id for each in records}
                return len(ids) >= self._total

            await self._healthy.until("every intent has a result", answered)

    async def _all_are_committed(self) -> None:
        # After the last answers: what a rebalance has delivered again is still to be looked at.
        async def committed() -> bool:
            return await kafka_topics.uncommitted(self._hosts, GROUP, "intents") == 0

        await self._healthy.until("every intent is committed", committed)

    async def _judged(self, exit_codes: list[int]) -> Judgement:
        topics = (
            ("--intents-from", "intents"),
            ("--results-to", "results"),
            ("--dead-letters-to", "dead-letters"),
        )
        options = [f"{option}=kafka://{self._hosts}/{topic}" for option, topic in topics]
        audit = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "beam_agents.effector", "audit", "--settled", *options),
            *("--registry", "tests.integration.keyed_ledger:TOOLS"),
            *("--ledger", str(ledger_of(self._folder)), "--faults", str(self._faults.path)),
            cwd=Path(__file__).parents[2],
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await audit.communicate()
        return Judgement(
            exit_code=int(audit.returncode or 0),
            told=told.decode(),
            intents=self._total,
            payments=sum(1 for _ in payments_of(self._folder).iterdir()),
            exit_codes=exit_codes,
        )

    def _round(self, seq: int) -> list[ToolIntent]:
        return [self._intent(key, seq) for key in range(KEYS)]

    def _intent(self, key: int, seq: int) -> ToolIntent:
        # Most tools are quick; some are long enough to be in the way of whatever comes.
        takes_ms = self._random.choice([3_000, *[20] * 10, *[100] * 10])
        return build_intent(
            "payments.pay",
            {"amount": 100 * key + seq, "takes_ms": takes_ms},
            entity_key=f"account-{key}".encode(),
            seq=seq,
            namespace=self._namespace,
            created_at_ms=_now_ms(),
        )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _say(what: str) -> None:
    print(f"chaos: {what.strip('_').replace('_', ' ')}", flush=True)  # noqa: T201
