"""Processes that outlive the command that started them, and are known again by a later one."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

STOP_TIMEOUT_S = 15


@dataclass(frozen=True)
class Recorded:
    """A process that we started: its pid, and since when, as pids are used again."""

    pid: int
    since: str

    @property
    def alive(self) -> bool:
        return _since(self.pid) == self.since


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other commands of ours off a folder meanwhile; the lock ends with this process."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def start(command: list[str], *, folder: Path, log: Path, record: Path) -> Recorded:
    """Start a command detached: no terminal, no descriptor of ours, a session of its own."""
    with log.open("ab") as output:
        popen = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            close_fds=True,
            start_new_session=True,
        )
    process = Recorded(popen.pid, _since(popen.pid) or "ended at once")
    record.write_text(json.dumps(asdict(process)))
    return process


def recorded(record: Path) -> Recorded | None:
    """The process that a record names, if it still runs."""
    try:
        process = Recorded(**json.loads(record.read_text()))
    except FileNotFoundError:
        return None
    return process if process.alive else None


def stop(process: Recorded) -> None:
    """End it kindly, then firmly; return once it is gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + STOP_TIMEOUT_S
        if process.alive:
            os.kill(process.pid, number)
        while process.alive and time.monotonic() < deadline:
            time.sleep(0.05)
    if process.alive:
        raise TimeoutError(f"process {process.pid} survived SIGKILL")


def _since(pid: int) -> str | None:
    """When a process was started, in whatever unit; None for one that has ended."""
    if not Path("/proc/self/stat").exists():
        asked = ["ps", "-o", "lstart=", "-p", str(pid)]
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout or None
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # After "pid (name) " comes the state, and 19 fields later the start. A zombie has ended.
    state, *fields = stat.rpartition(")")[2].split()
    return None if state == "Z" else fields[18]
