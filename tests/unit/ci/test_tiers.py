"""CI counts what ran, and a tier that ran nothing is a failure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TIERS = Path(__file__).parents[3] / ".ci" / "tiers.py"


def report(folder: Path, tier: str, *, tests: int, failures: int = 0, skipped: int = 0) -> None:
    suite = f'tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}" time="1.5"'
    (folder / f"{tier}.xml").write_text(f"<testsuites><testsuite {suite}/></testsuites>")


def count(folder: Path, *tiers: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, str(TIERS), str(folder), *tiers],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


def test_all_tiers_are_added_up_in_the_last_line(tmp_path: Path) -> None:
    report(tmp_path, "unit", tests=10, skipped=1)
    report(tmp_path, "docs", tests=2)

    code, lines = count(tmp_path, "unit", "docs")

    assert code == 0
    assert lines[-1] == "11 passed, 0 failed, 1 skipped"


def test_a_failure_fails_the_run(tmp_path: Path) -> None:
    report(tmp_path, "unit", tests=10, failures=1)

    code, lines = count(tmp_path, "unit")

    assert code == 1
    assert lines[-1] == "9 passed, 1 failed, 0 skipped"


def test_a_tier_whose_tests_were_all_skipped_fails_the_run(tmp_path: Path) -> None:
    report(tmp_path, "unit", tests=10)
    report(tmp_path, "integration", tests=3, skipped=3)

    code, lines = count(tmp_path, "unit", "integration")

    assert code == 1
    assert [line.split()[0] for line in lines if line.endswith("RAN NOTHING")] == ["integration"]


def test_a_tier_without_a_report_fails_the_run(tmp_path: Path) -> None:
    report(tmp_path, "unit", tests=10)

    code, _ = count(tmp_path, "unit", "semantics")

    assert code == 1
