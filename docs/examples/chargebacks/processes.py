"""The processes of the demo: started with a log file each, watched, and ended by pid."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

STOP_TIMEOUT_S = 30
WAIT_TIMEOUT_S = 120

T = TypeVar("T")


class ProcessDied(RuntimeError):
    """A process ended that nobody ended; the message has the end of its log."""


@dataclass
class Process:
    """One process of ours."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path
    ended_by_us: bool = False

    @property
    def pid(self) -> int:
        return self.popen.pid

    def signal(self, number: signal.Signals) -> None:
        self.popen.send_signal(number)

    def kill(self) -> None:
        """SIGKILL: no cleanup of its own runs."""
        self.ended_by_us = True
        self.popen.kill()
        self.popen.wait()

    def stop(self) -> None:
        """SIGTERM: finish what you do."""
        self.ended_by_us = True
        if self.popen.poll() is None:
            self.popen.terminate()

    def wait_or_kill(self) -> None:
        """Give it time to finish, and no more than that."""
        try:
            self.popen.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def tail(self, lines: int = 20) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


@dataclass
class Supervisor:
    """Starts processes, notices when one dies, and leaves none behind."""

    logs: Path
    cwd: Path
    processes: list[Process] = field(default_factory=list)

    def start(self, name: str, *argv: str, env: dict[str, str] | None = None) -> Process:
        self.logs.mkdir(parents=True, exist_ok=True)
        path = self.logs / f"{name}.log"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("EFFECTOR_")}
        with path.open("wb") as log:
            popen = subprocess.Popen(
                [sys.executable, *argv],
                cwd=self.cwd,
                env={**inherited, "PYTHONUNBUFFERED": "1", **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Ctrl-C is for the demo, which then stops these in order.
                start_new_session=True,
            )
        process = Process(name, popen, path)
        self.processes.append(process)
        return process

    def by_pid(self, pid: int) -> Process:
        return next(process for process in self.processes if process.pid == pid)

    def check(self) -> None:
        """Raise `ProcessDied` if one has ended by itself."""
        for process in self.processes:
            if process.popen.poll() is not None and not process.ended_by_us:
                raise ProcessDied(
                    f"{process.name} ended with exit code {process.popen.returncode};"
                    f" the end of {process.log}:\n{process.tail()}"
                )

    def stop_all(self) -> None:
        for process in self.processes:
            process.stop()
        for process in self.processes:
            process.wait_or_kill()


def wait_for(condition: Callable[[], T | None], supervisor: Supervisor) -> T:
    """Ask again and again until the answer is something, while every process lives.

    Raises:
        ProcessDied: One ended meanwhile.
        TimeoutError: Two minutes went by.
    """
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    while time.monotonic() < deadline:
        if answer := condition():
            return answer
        supervisor.check()
        time.sleep(0.02)
    raise TimeoutError(f"nothing came of it in {WAIT_TIMEOUT_S} s; see {supervisor.logs}")
