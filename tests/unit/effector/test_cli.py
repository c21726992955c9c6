from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from beam_agents.effector.cli import app
from beam_agents.effector.settings import SETTINGS

_LOADED_BY_HELP = """
import json, sys
from beam_agents.effector.cli import app
try:
    app(["--help"], prog_name="beam-agents-effector")
except SystemExit as exit:
    assert exit.code == 0
print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in SETTINGS:
        monkeypatch.delenv(setting.variable, raising=False)


def help_text() -> str:
    result = CliRunner().invoke(
        app, ["--help"], terminal_width=80, prog_name="beam-agents-effector"
    )
    assert result.exit_code == 0
    return result.output


def test_help_names_every_option_with_its_variable_and_default() -> None:
    text = " ".join(help_text().split())

    for setting in SETTINGS:
        assert setting.variable in text
        assert setting.option.env_only or f"{setting.flag} " in text
    assert "[EFFECTOR_LEASE_MS; default: 30000]" in text
    assert "[EFFECTOR_REGISTRY; required]" in text


def test_help_is_readable_at_80_columns() -> None:
    assert max(map(len, help_text().splitlines())) <= 80


def test_help_shows_the_uris_with_their_parameters() -> None:
    text = help_text()

    for parameter in (
        *("kafka://", "?group=NAME&session_timeout_ms=MS", "?topic=NAME&group=NAME&lease_ms=MS"),
        *("?cluster=true&wait_replicas=N", "?app_profile=NAME", "subscription?lease_ms=MS"),
    ):
        assert parameter in text


def test_help_has_a_heading_for_each_group() -> None:
    headings = [line for line in help_text().splitlines() if line.endswith(":") and line[0] != " "]

    assert headings == [
        "Wiring:",
        "Trust:",
        "Leases and deadlines:",
        "Tools:",
        "Limits:",
        "Logs and health:",
        "Servers, from the environment only:",
        "Other:",
        "Commands:",
    ]


def test_help_loads_neither_beam_nor_pydantic_nor_any_client() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", _LOADED_BY_HELP], check=True, capture_output=True, text=True
    )
    loaded = {name.partition(".")[0] for name in json.loads(answer.stdout.splitlines()[-1])}

    clients = {"aiohttp", "aiokafka", "google", "grpc", "prometheus_client", "redis"}
    assert loaded.isdisjoint({"apache_beam", "pydantic", "asyncio", "rich", *clients})


def test_version_is_that_of_the_distribution() -> None:
    result = CliRunner().invoke(app, ["--version"])

    assert result.exit_code == 0
    assert result.output == f"beam-agents-effector {version('beam-agents-effector')}\n"


def test_the_module_runs_as_the_command_does() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "beam_agents.effector", "--version"],
        check=True,
        capture_output=True,
        text=True,
    )

    assert answer.stdout.startswith("beam-agents-effector ")


def test_mistakes_are_one_line_each_and_exit_with_2() -> None:
    result = CliRunner().invoke(app, ["--lease-ms", "0", "--dedup", "memory://"])

    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "beam-agents-effector: --registry (or EFFECTOR_REGISTRY) is missing",
        "beam-agents-effector: --intents-from (or EFFECTOR_INTENTS_FROM) is missing",
        "beam-agents-effector: --results-to (or EFFECTOR_RESULTS_TO) is missing",
        "beam-agents-effector: --lease-ms: '0': input should be greater than or equal to 1",
    ]


def test_an_unknown_option_exits_with_2() -> None:
    result = CliRunner().invoke(app, ["--no-such-option"])

    assert result.exit_code == 2
    assert "--no-such-option" in result.stderr
    assert "Traceback" not in result.output
