"""Counts the tests of each tier from its JUnit report, and fails where a tier ran none."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET


@dataclass(frozen=True)
class Counts:
    """How many tests of one tier ended how."""

    passed: int
    failed: int
    skipped: int
    seconds: float = 0

    @classmethod
    def read(cls, report: Path) -> Counts:
        """Read a report; one that was never written counts as a tier that ran nothing."""
        if not report.exists():
            return cls(0, 0, 0)
        passed = failed = skipped = 0
        seconds = 0.0
        for suite in ET.parse(report).getroot().iter("testsuite"):  # noqa: S314 our own
            bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            unrun = int(suite.get("skipped", 0))
            failed, skipped = failed + bad, skipped + unrun
            passed += max(0, int(suite.get("tests", 0)) - bad - unrun)
            seconds += float(suite.get("time", 0))
        return cls(passed, failed, skipped, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("reports", type=Path)
    parser.add_argument("tiers", nargs="+")
    args = parser.parse_args()
    counts = {tier: Counts.read(args.reports / f"{tier}.xml") for tier in args.tiers}
    for tier, each in counts.items():
        verdict = "" if each.passed else "   RAN NOTHING"
        print(
            f"{tier:<22}{each.passed:>6} passed{each.failed:>5} failed{each.skipped:>5} skipped"
            f"{each.seconds:>8.1f} s{verdict}"
        )
    passed, failed, skipped = (
        sum(getattr(each, outcome) for each in counts.values())
        for outcome in ("passed", "failed", "skipped")
    )
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(0 if failed == 0 and all(each.passed for each in counts.values()) else 1)


if __name__ == "__main__":
    main()
