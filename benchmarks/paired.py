"""Times a thing beside its floor, in one process, and judges the ratio."""

from __future__ import annotations

import argparse
import json
import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROUNDS = 15
SMOKE_ROUNDS = 3
CALLS = 1_000


@dataclass(frozen=True, slots=True)
class Pair:
    """What is measured, what it is measured against, and how many times slower it may be.

    A call that does the thing `per_call` times over is called once a round, as it lasts.
    """

    name: str
    measured: Callable[[], object]
    floor: Callable[[], object]
    limit: float
    per_call: int = 1


@dataclass(frozen=True, slots=True)
class Figures:
    name: str
    measured_us: float
    floor_us: float
    limit: float

    @property
    def ratio(self) -> float:
        return self.measured_us / self.floor_us


def figures_of(pair: Pair, number: int) -> Figures:
    """Take CPU time, round by round in turn, and keep the best of each: the rest is noise."""
    timers = [timeit.Timer(f, timer=time.process_time) for f in (pair.measured, pair.floor)]
    calls = CALLS if pair.per_call == 1 else 1
    rounds = [[timer.timeit(calls) for timer in timers] for _ in range(number)]
    things = calls * pair.per_call
    measured, floor = (min(times) / things * 1e6 for times in zip(*rounds, strict=True))
    return Figures(pair.name, measured, floor, pair.limit)


def run(title: str, floor: str, pairs: Sequence[Pair]) -> None:
    """Measure, print a table, write the figures if asked to, and exit 1 on a missed ratio."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--smoke", action="store_true", help="few rounds, and gates twice as wide")
    args = parser.parse_args()
    if args.smoke:
        pairs = [replace(pair, limit=2 * pair.limit) for pair in pairs]
    rounds = SMOKE_ROUNDS if args.smoke else ROUNDS
    figures = [figures_of(pair, rounds) for pair in pairs]
    table = Table("shape", "ours, us", f"{floor}, us", "ratio", "at most", title=title)
    for each in figures:
        mark = "" if each.ratio <= each.limit else " MISSED"
        table.add_row(
            each.name,
            f"{each.measured_us:.1f}",
            f"{each.floor_us:.1f}",
            f"{each.ratio:.2f}{mark}",
            f"{each.limit:.1f}",
        )
    Console().print(table)
    if args.json:
        rows = {
            each.name: {"us": each.measured_us, "floor_us": each.floor_us, "ratio": each.ratio}
            for each in figures
        }
        args.json.write_text(json.dumps(rows, indent=2) + "\n")
    raise SystemExit(any(each.ratio > each.limit for each in figures))
