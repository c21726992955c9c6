"""Redis, every write on disk before it is answered, as the effector's dedup store needs it."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

from compose.local.places import HOST, Port
from compose.local.programs import need, run
from compose.local.server import Server

PORT = Port("BEAM_AGENTS_REDIS_PORT", 16379)


def prepare(folder: Path) -> list[str]:
    if shutil.which("redis-server") is None:
        _install()
    data = folder / "data"
    data.mkdir(exist_ok=True)
    listen = ["--bind", HOST, "--port", str(PORT.number)]
    durable = ["--dir", str(data), "--appendonly", "yes", "--appendfsync", "always", "--save", ""]
    return ["redis-server", *listen, *durable]


def ask(port: int) -> None:
    with socket.create_connection((HOST, port), timeout=2) as connection:
        connection.sendall(b"PING\r\n")
        answer = connection.recv(64)
    if answer != b"+PONG\r\n":
        raise OSError(f"it answered PING by {answer!r}")


def _install() -> None:
    if os.geteuid() == 0 and shutil.which("apt-get"):
        # A run level of 1 keeps the package from starting a server of its own.
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        run(["apt-get", "update", "-q"], env=env)
        run(["apt-get", "install", "-y", "-q", "redis-server"], env=env)
    need("redis-server", "Redis (package redis-server)")


SERVER = Server(port=PORT, prepare=prepare, ask=ask, patience_s=15)
