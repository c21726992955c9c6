"""`beam-agents-effector doctor`: what it finds, and that it leaves everything as it was."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from beam_agents.effector.cli import app
from beam_agents.embedded import EmbeddedBus
from beam_agents.tools import IntentInfo, ToolRegistry, tool


@tool(side_effect=True)
def keyed(*, intent: IntentInfo) -> None:
    """Do it once."""


@tool(side_effect=True)
def unkeyed() -> None:
    """Do it at least once."""


TOOLS = ToolRegistry(keyed, unkeyed)


def examine(folder: Path, **changes: str) -> Any:
    bus = f"sqlite:///{folder}/bus.db?topic="
    env = {
        "EFFECTOR_REGISTRY": "tests.unit.effector.test_doctor:TOOLS",
        "EFFECTOR_INTENTS_FROM": bus + "intents",
        "EFFECTOR_RESULTS_TO": bus + "results",
        "EFFECTOR_DEDUP": f"sqlite:///{folder}/dedup.db",
    }
    return CliRunner().invoke(app, ["doctor"], env={**env, **changes})


def test_a_healthy_effector_is_told_part_by_part(tmp_path: Path) -> None:
    with EmbeddedBus(tmp_path / "bus.db") as bus:
        bus.publish("intents", key=b"k", value=b"x")

    told = examine(tmp_path)

    assert told.exit_code == 0, told.output
    assert all(line.startswith("ok ") for line in told.stdout.splitlines())
    assert "can be read, 1 places" in told.stdout
    assert "dedup" in told.stdout


def test_tools_that_may_run_again_are_named(tmp_path: Path) -> None:
    EmbeddedBus(tmp_path / "bus.db").close()

    assert "may run again: unkeyed\n" in examine(tmp_path).stdout


def test_the_options_of_the_effector_come_before_the_command(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["--lease-ms", "soon", "doctor"])

    assert told.exit_code == 2
    assert "--lease-ms" in told.stderr


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    told = examine(tmp_path, EFFECTOR_REGISTRY="nowhere:TOOLS", EFFECTOR_LEASE_MS="0")

    assert told.exit_code == 2
    assert "nowhere" in told.stderr
    assert "EFFECTOR_LEASE_MS" in told.stderr


def test_a_server_that_is_away_is_named_with_the_reason_and_the_rest_is_looked_at(
    tmp_path: Path,
) -> None:
    EmbeddedBus(tmp_path / "bus.db").close()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # not listening: a connection is refused
        port = taken.getsockname()[1]

        told = examine(tmp_path, EFFECTOR_RESULTS_TO=f"kafka://127.0.0.1:{port}/results")

    assert told.exit_code == 1
    assert "PROBLEM  results" in told.stdout
    assert "connection refused" in told.stdout
    assert "ok       dedup" in told.stdout


def test_a_missing_bus_is_a_problem_and_is_not_made(tmp_path: Path) -> None:
    told = examine(tmp_path, EFFECTOR_INTENTS_FROM=f"sqlite:///{tmp_path}/typo.db?topic=intents")

    assert told.exit_code == 1
    assert "PROBLEM  intents" in told.stdout
    assert not (tmp_path / "typo.db").exists()
