"""The command as its users run it: a process on the embedded bus, ended by signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.embedded import EmbeddedBus
from beam_agents.intents.identity import intent_id_for

_WAIT_MS = 30_000
_TOOLS = """
import asyncio
import threading
from beam_agents.embedded import EmbeddedBus
from beam_agents.tools import ToolRegistry

TOOLS = ToolRegistry()

@TOOLS.tool(side_effect=True)
def refund(amount: int) -> str:
    return f"refunded {amount}"

@TOOLS.tool(side_effect=True)
def hang() -> None:
    EmbeddedBus("bus.db").publish("running", key=None, value=b"")
    threading.Event().wait()

@TOOLS.tool(side_effect=True)
async def leave_something_behind(how: str) -> str:
    async def stray() -> None:
        if how == "stop":
            asyncio.get_running_loop().stop()
        raise SystemExit(5)

    task = asyncio.create_task(stray())
    await asyncio.wait([task])
    return "here"

@TOOLS.tool(side_effect=True)
async def never_mind() -> None:
    EmbeddedBus("bus.db").publish("running", key=None, value=b"")
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[EmbeddedBus]:
    (tmp_path / "app.py").write_text(_TOOLS)
    with EmbeddedBus(tmp_path / "bus.db") as bus:
        yield bus


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    processes: list[subprocess.Popen[str]] = []
    environ = {name: value for name, value in os.environ.items() if "EFFECTOR" not in name} | {
        "EFFECTOR_REGISTRY": "app:TOOLS",
        "EFFECTOR_INTENTS_FROM": "sqlite:///bus.db?topic=intents",
        "EFFECTOR_RESULTS_TO": "sqlite:///bus.db?topic=results",
        "EFFECTOR_DEDUP": "sqlite:///dedup.db",
        "EFFECTOR_SHUTDOWN_GRACE_MS": "0",
    }

    def started(**settings: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "beam_agents.effector"]
        process = subprocess.Popen(
            command, cwd=tmp_path, env={**environ, **settings}, text=True, stderr=subprocess.PIPE
        )
        processes.append(process)
        return process

    yield started
    for process in processes:
        process.kill()
        process.wait()


def publish(bus: EmbeddedBus, tool_name: str, args_json: str) -> None:
    now_ms = time.time_ns() // 1_000_000
    intent = ToolIntent(
        intent_id=intent_id_for(b"acct-1", 0, 0),
        entity_key=b"acct-1",
        tool_name=tool_name,
        args_json=args_json,
        created_at_ms=now_ms,
        expires_at_ms=now_ms + 60_000,
        kind=ToolIntent.TOOL,
    )
    bus.publish("intents", key=b"acct-1", value=intent.SerializeToString())


def test_an_intent_is_performed_and_sigterm_ends_the_process_with_0(
    bus: EmbeddedBus, start: Start
) -> None:
    publish(bus, "refund", '{"amount":4200}')
    process = start()
    assert bus.wait("results", 0, timeout_ms=_WAIT_MS)

    process.send_signal(signal.SIGTERM)
    _, log = process.communicate()

    [record] = bus.records("results")
    result = ToolResult.FromString(record.value or b"")
    assert (result.status, result.payload) == (ToolResult.OK, b'"refunded 4200"')
    assert process.returncode == 0, log
    assert bus.committed("beam-agents-effector", "intents") == 1


def test_a_second_signal_does_not_wait_for_a_tool_that_hangs(
    bus: EmbeddedBus, start: Start
) -> None:
    publish(bus, "hang", "{}")
    process = start()
    assert bus.wait("running", 0, timeout_ms=_WAIT_MS)

    process.send_signal(signal.SIGTERM)
    assert process.stderr is not None
    while "SIGTERM" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGTERM)
    process.communicate()

    assert process.returncode == 128 + signal.SIGTERM
    assert bus.end_offset("results") == 0
    assert bus.committed("beam-agents-effector", "intents") == 0


def test_an_async_tool_that_ignores_its_cancellation_does_not_keep_the_process(
    bus: EmbeddedBus, start: Start
) -> None:
    publish(bus, "never_mind", "{}")
    process = start()
    assert bus.wait("running", 0, timeout_ms=_WAIT_MS)

    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=_WAIT_MS / 1000)

    assert process.returncode == 0, log
    assert bus.end_offset("results") == 0


@pytest.mark.parametrize("how", ["exit", "stop"])
def test_a_task_that_a_tool_left_behind_cannot_end_the_worker(
    bus: EmbeddedBus, start: Start, how: str
) -> None:
    publish(bus, "leave_something_behind", f'{{"how":"{how}"}}')
    process = start()
    assert bus.wait("results", 0, timeout_ms=_WAIT_MS)

    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=_WAIT_MS / 1000)

    [record] = bus.records("results")
    assert ToolResult.FromString(record.value or b"").payload == b'"here"'
    assert process.returncode == 0, log
    assert "left behind" in log


def test_a_worker_serves_its_health_where_it_is_told_to(bus: EmbeddedBus, start: Start) -> None:
    publish(bus, "hang", "{}")
    process = start(EFFECTOR_HTTP="127.0.0.1:0")
    assert process.stderr is not None
    address = ""
    while not address:
        address = process.stderr.readline().strip().partition(" http=")[2]
    assert bus.wait("running", 0, timeout_ms=_WAIT_MS)

    with urlopen(f"http://{address}/readyz") as answer:
        assert answer.read() == b"ready\n"
    with urlopen(f"http://{address}/lanes") as answer:
        [lane] = json.load(answer)
    assert lane["intent_id"] == intent_id_for(b"acct-1", 0, 0)
    assert lane["waits_for"] == "its tool"
