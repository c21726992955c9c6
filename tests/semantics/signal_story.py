"""Stories of real signals, one at each phase, to a real process; another process takes over.

All are played at once, each in a folder of its own, and then judged by `SignalContract`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.effector.phase import Phase
from beam_agents.embedded import EmbeddedBus
from beam_agents.intents import build_intent

ROOT = Path(__file__).parents[2]
GROUP = "beam-agents-effector"
# The shortest lease that the settings allow; and what stands still, stands longer.
LEASE_MS = 4_500
WAIT_S = 60
_APP = """
from beam_agents.embedded import EmbeddedBus
from beam_agents.tools import IntentInfo, ToolRegistry

TOOLS = ToolRegistry()

@TOOLS.tool(side_effect=True)
async def refund(cents: int, *, intent: IntentInfo) -> int:
    EmbeddedBus("calls.db").publish("calls", key=None, value=str(intent.attempt).encode())
    return cents
"""

STORIES = [
    pytest.param(phase, name, id=f"{name}-{phase.value}")
    for name in ("SIGKILL", "SIGTERM", "SIGSTOP")
    for phase in Phase
]


@dataclass
class Story:
    """One signal at one phase, and what comes after it."""

    folder: Path
    dedup: str
    phase: Phase
    name: str
    intent: ToolIntent = field(init=False)
    exit_code: int = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir()
        (self.folder / "app.py").write_text(_APP)
        now_ms = time.time_ns() // 1_000_000
        self.intent = build_intent(
            "refund",
            {"cents": 4200},
            entity_key=b"acct-1",
            seq=0,
            namespace=uuid4().hex,  # stories may share a store
            created_at_ms=now_ms,
            expires_at_ms=now_ms + 3_600_000,
        )
        with self.bus() as bus:
            bus.publish("intents", key=b"acct-1", value=self.intent.SerializeToString())

    async def play(self, turns: asyncio.Semaphore) -> None:
        async with turns:
            victim = self._start(SIGNAL_AT=f"{self.phase.value} {self.name}")
            try:
                await self._until_the_signal(victim)
                successor = self._start()
                try:
                    await self._until(self._is_answered)
                    if self.name == "SIGSTOP":
                        victim.send_signal(signal.SIGCONT)
                    self.exit_code = await self._exit_code_of(victim)
                finally:
                    successor.kill()
                    successor.wait()
            finally:
                victim.kill()
                victim.wait()

    def bus(self) -> EmbeddedBus:
        return EmbeddedBus(self.folder / "bus.db")

    @property
    def results(self) -> list[bytes]:
        with self.bus() as bus:
            return [record.value or b"" for record in bus.records("results")]

    @property
    def calls(self) -> list[int]:
        """The attempts that called the tool."""
        with EmbeddedBus(self.folder / "calls.db") as bus:
            return [int(record.value or b"") for record in bus.records("calls")]

    def _is_answered(self) -> bool:
        with self.bus() as bus:
            return bus.committed(GROUP, "intents") == 1

    async def _until_the_signal(self, victim: subprocess.Popen[bytes]) -> None:
        if self.name != "SIGSTOP":
            await self._until(lambda: victim.poll() is not None)
            return
        stopped = "State:\tT"
        status = Path(f"/proc/{victim.pid}/status")
        await self._until(lambda: stopped in status.read_text())

    async def _until(self, met: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not met():
            assert time.monotonic() < deadline, f"{self.name} at {self.phase.value}: stuck"
            await asyncio.sleep(0.2)

    async def _exit_code_of(self, process: subprocess.Popen[bytes]) -> int:
        """Ask a process to stop that still runs."""
        if process.poll() is None:
            process.terminate()
            await self._until(lambda: process.poll() is not None)
        return int(process.returncode)

    def _start(self, **settings: str) -> subprocess.Popen[bytes]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("EFFECTOR_")}
        environ = {
            **inherited,
            "PYTHONPATH": str(ROOT),
            "EFFECTOR_REGISTRY": "app:TOOLS",
            "EFFECTOR_INTENTS_FROM": f"sqlite:///bus.db?topic=intents&lease_ms={LEASE_MS}",
            "EFFECTOR_RESULTS_TO": "sqlite:///bus.db?topic=results",
            "EFFECTOR_DEDUP": self.dedup,
            "EFFECTOR_LEASE_MS": str(LEASE_MS),
            "EFFECTOR_MAX_CLOCK_SKEW_MS": "1000",
            **settings,
        }
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.semantics.signalled"],
                cwd=self.folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


def played(folder: Path, dedup: str) -> dict[tuple[Phase, str], Story]:
    """Play all stories, with this store, and return them."""
    stories = {
        (phase, name): Story(folder / f"{name}-{phase.value}", dedup, phase, name)
        for phase, name in (param.values for param in STORIES)
        if isinstance(phase, Phase) and isinstance(name, str)
    }

    async def play() -> None:
        turns = asyncio.Semaphore(12)  # so many at once; they wait more than they work
        await asyncio.gather(*(story.play(turns) for story in stories.values()))

    asyncio.run(play())
    return stories


@pytest.mark.parametrize(("phase", "name"), STORIES)
class SignalContract:
    """What every story must come to; give it `stories`."""

    @pytest.fixture
    def story(self, stories: dict[tuple[Phase, str], Story], phase: Phase, name: str) -> Story:
        return stories[phase, name]

    def test_the_intent_has_one_agreed_result_whatever_was_published(self, story: Story) -> None:
        [copy] = set(story.results)
        result = ToolResult.FromString(copy)
        assert (result.intent_id, result.status, result.payload) == (
            story.intent.intent_id,
            ToolResult.OK,
            b"4200",
        )

    def test_the_tool_is_called_again_only_if_the_signal_came_between_call_and_record(
        self, story: Story
    ) -> None:
        twice = story.phase is Phase.COMPLETE and story.name != "SIGTERM"
        assert len(story.calls) == (2 if twice else 1)
        assert story.calls == sorted(story.calls)

    def test_a_process_that_is_asked_to_stop_does_so_gracefully(self, story: Story) -> None:
        assert story.exit_code == (-signal.SIGKILL if story.name == "SIGKILL" else 0)
