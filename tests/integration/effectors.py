"""Effector processes of a test: started, watched, and ended by pid."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[2]
PATIENCE_S = 90
LOG_LINES = 60


@dataclass
class Effector:
    """One effector process."""

    popen: subprocess.Popen[bytes]
    log: Path
    meant_to_end: bool = False

    @property
    def pid(self) -> int:
        return self.popen.pid

    def kill(self) -> None:
        """SIGKILL: nothing of its own runs any more."""
        self.meant_to_end = True
        self.popen.kill()
        self.popen.wait()

    def ask_to_stop(self) -> None:
        """SIGTERM, once: the second would mean to stop at once."""
        if not self.meant_to_end:
            self.meant_to_end = True
            self.popen.terminate()


@dataclass
class Effectors:
    """Starts effectors of one setting, and leaves none behind."""

    settings: Mapping[str, str]
    logs: Path
    started: list[Effector] = field(default_factory=list)

    def start(self) -> Effector:
        path = self.logs / f"effector-{len(self.started) + 1}.log"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("EFFECTOR_")}
        with path.open("wb") as log:
            popen = subprocess.Popen(
                [sys.executable, "-m", "beam_agents.effector"],
                cwd=ROOT,
                env={**inherited, **self.settings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.started.append(Effector(popen, path))
        return self.started[-1]

    def by_pid(self, pid: int) -> Effector:
        return next(each for each in self.started if each.pid == pid)

    @property
    def running(self) -> list[Effector]:
        return [each for each in self.started if each.popen.poll() is None]

    async def until(self, what: str, met: Callable[[], bool | Awaitable[bool]]) -> None:
        """Ask until the answer is yes; every process that is not meant to end must live."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = met()
            if isawaitable(answer):
                answer = await answer
            if answer:
                return
            for each in self.started:
                code = each.popen.poll()
                assert code is None or each.meant_to_end, f"{each.log.stem} ended with {code}"
            assert time.monotonic() < deadline, f"not so after {PATIENCE_S} s: {what}"
            await asyncio.sleep(0.05)

    async def stop(self, effector: Effector) -> int:
        """Ask one to stop and wait for it; return its exit code."""
        effector.ask_to_stop()
        await self.until(
            f"{effector.log.stem} has stopped", lambda: effector.popen.poll() is not None
        )
        return int(effector.popen.returncode)

    def __enter__(self) -> Effectors:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        for each in self.started:
            each.kill()
            if kind is not None:
                lines = each.log.read_text(errors="replace").splitlines()[-LOG_LINES:]
                sys.stderr.write("\n".join([f"--- {each.log.name}", *lines, ""]))
