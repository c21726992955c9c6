"""Effectors on a real Kafka and a real Redis, each a process, and the topics beside them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from uuid import uuid4

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import GroupCoordinatorNotAvailableError

PARTITIONS = 4
STARTED_WITHIN_S = 30.0


class Hosts:
    """Topics of their own on a broker, and the effectors that serve them.

    Args:
        kafka: `host:port` of the broker.
        redis: The URL of the store.
        registry: The tools, as `module:attribute`; the module lies beside this one.
        settings: What else the effectors are told, as environment variables.
        source_parameters: What else the URI of their source says, such as `?group=g`.
    """

    def __init__(
        self,
        kafka: str,
        redis: str,
        registry: str,
        *,
        settings: Mapping[str, str] | None = None,
        source_parameters: str = "",
    ) -> None:
        run = f"bench-{uuid4().hex}"
        self.kafka = kafka
        self.group = run
        self.intents, self.results = f"{run}-intents", f"{run}-results"
        self._settings = {
            "EFFECTOR_REGISTRY": registry,
            "EFFECTOR_INTENTS_FROM": f"kafka://{kafka}/{self.intents}{source_parameters}",
            "EFFECTOR_RESULTS_TO": f"kafka://{kafka}/{self.results}",
            "EFFECTOR_DEDUP": redis,
            "EFFECTOR_CONSUMER_GROUP": run,
            **(settings or {}),
        }
        self._processes: list[subprocess.Popen[bytes]] = []
        self._left = ExitStack()
        self.folder: Path

    async def __aenter__(self) -> Hosts:
        self.folder = Path(self._left.enter_context(TemporaryDirectory()))
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka)
        await admin.start()
        try:
            topics = [NewTopic(topic, PARTITIONS, 1) for topic in (self.intents, self.results)]
            await admin.create_topics(topics)
        finally:
            await admin.close()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        if kind is not None:
            for log in sorted(self.folder.glob("*.log")):
                sys.stderr.write(f"--- {log.name}\n{log.read_text()[-3_000:]}\n")
        self._left.close()

    def start(self) -> int:
        """Start an effector; return its pid."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("EFFECTOR_")}
        environment = {**inherited, **self._settings, "BENCH_FOLDER": str(self.folder)}
        with (self.folder / f"{len(self._processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "beam_agents.effector"],
                cwd=Path(__file__).parent,
                env=environment,
                stdout=log,
                stderr=log,
            )
        self._processes.append(process)
        return process.pid

    async def serving(self, members: int) -> None:
        """Wait until so many effectors have been dealt partitions."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka)
        await admin.start()
        deadline = time.monotonic() + STARTED_WITHIN_S
        try:
            while await _dealt(admin, self.group) != members:
                assert time.monotonic() < deadline, f"no {members} effectors serve"
                await asyncio.sleep(0.1)
        finally:
            await admin.close()


async def _dealt(admin: AIOKafkaAdminClient, group: str) -> int:
    """Count the members of a settled group that have partitions; 0 while it rebalances."""
    try:
        [response] = await admin.describe_consumer_groups([group])
    except GroupCoordinatorNotAvailableError:  # a new broker makes its topic of groups now
        return 0
    [(_, _, state, _, _, members, *_)] = response.groups
    return sum(1 for member in members if member[4]) if state == "Stable" else 0


def kill(pid: int) -> float:
    """End a process at once; return when."""
    killed_s = time.perf_counter()
    os.kill(pid, signal.SIGKILL)
    return killed_s


class Follower:
    """Reads a topic from now on, and tells of each record when it came."""

    def __init__(self, kafka: str, topic: str, seen: Callable[[ConsumerRecord], None]) -> None:
        self._partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=kafka, auto_offset_reset="earliest", enable_auto_commit=False
        )
        self._seen = seen
        self._reading: asyncio.Task[None]

    async def __aenter__(self) -> Follower:
        await self._consumer.start()
        self._consumer.assign(self._partitions)
        self._reading = asyncio.ensure_future(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._reading.cancel()
        await asyncio.wait({self._reading})
        await self._consumer.stop()

    async def _read(self) -> None:
        async for record in self._consumer:
            self._seen(record)


def producer(kafka: str) -> AIOKafkaProducer:
    """Make a producer that sends at once, and waits for the broker's disk no less than ours."""
    return AIOKafkaProducer(bootstrap_servers=kafka, acks="all")
