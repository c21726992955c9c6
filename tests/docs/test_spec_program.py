"""The program of a published page, unchanged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).parent / "data"


def test_the_page_program_runs_unchanged(tmp_path: Path) -> None:
    # Kept as text, so that no formatter changes a character of it.
    program = tmp_path / "intents_and_resume.py"
    program.write_text((DATA / "spec_intents_and_resume.txt").read_text())

    ran = subprocess.run(
        [sys.executable, "-W", "default", str(program)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert ran.stdout == "intents_and_resume: ok\n", ran.stderr
    assert ran.returncode == 0
    assert "beam_agents" not in ran.stderr  # no warning of ours
