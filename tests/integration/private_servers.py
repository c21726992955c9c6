"""Servers of one test's own, which it may kill and start again at will."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
# How many ports in a row Kafka needs from its first on.
KAFKA_PORTS = 7
_FIRST_PORT, _LAST_PORT = 20_000, 31_000


@dataclass(frozen=True)
class PrivateServers:
    """Kafka and Redis, started from packages as everywhere, in a folder of their own."""

    folder: Path
    kafka_port: int
    redis_port: int

    @classmethod
    def on_free_ports(cls, folder: Path) -> PrivateServers:
        kafka = _free_ports(KAFKA_PORTS)
        return cls(folder, kafka_port=kafka, redis_port=_free_ports(1))

    async def up(self, name: str) -> None:
        """Start a server, or start it again; return once it answers."""
        await self._run("up", name)

    async def down(self) -> None:
        """Stop all of them."""
        await self._run("down")

    def kill(self, name: str) -> None:
        """SIGKILL: what it had not written is gone."""
        pid = json.loads((self.folder / name / "pid.json").read_text())["pid"]
        os.kill(pid, signal.SIGKILL)

    async def _run(self, command: str, *arguments: str) -> None:
        env = {
            **os.environ,
            "BEAM_AGENTS_SERVICES": str(self.folder),
            "BEAM_AGENTS_KAFKA_PORT": str(self.kafka_port),
            "BEAM_AGENTS_REDIS_PORT": str(self.redis_port),
        }
        process = await asyncio.create_subprocess_exec(
            str(ROOT / "compose/local" / command),
            *arguments,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        told, _ = await process.communicate()
        assert process.returncode == 0, told.decode()


def _free_ports(count: int) -> int:
    """Find the first of so many free ports in a row."""
    while True:
        first = random.randrange(_FIRST_PORT, _LAST_PORT)  # noqa: S311 - no secret
        if all(_is_free(port) for port in range(first, first + count)):
            return first


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
