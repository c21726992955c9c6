"""Every program in docs/examples runs as its reader would run it, and says that it is right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Runs until it is stopped, beside Slack: its own test is test_slack_approvals.py.
SERVICES = {"slack_approvals"}
EXAMPLES = sorted(
    program
    for program in (Path(__file__).parents[2] / "docs/examples").glob("*.py")
    if program.stem not in SERVICES
)


@pytest.mark.parametrize("program", EXAMPLES, ids=lambda program: program.stem)
def test_an_example_runs(program: Path, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "default", str(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert (ran.returncode, ran.stdout) == (0, f"{program.stem}: ok\n"), ran.stderr
    assert "beam_agents" not in ran.stderr  # no warning of ours
