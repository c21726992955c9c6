"""Rows of a benchmark's table, each with the gate that it must pass."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """A figure, where it must lie and where it should.

    Attributes:
        value: What was measured.
        at_least: Whether the gate is the least value, not the greatest.
        note: What the value was made of.
    """

    case: str
    value: float
    gate: float
    aim: float
    note: str
    at_least: bool = True

    @property
    def missed(self) -> bool:
        """Whether the gate is missed."""
        return self.value < self.gate if self.at_least else self.value > self.gate


def options(title: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    return parser


def report(title: str, rows: Iterable[Row], file: Path | None) -> None:
    """Print the table, write the figures if asked to, and exit 1 on a missed gate."""
    rows = list(rows)
    table = Table("case", "measured", "gate", "aim", "", title=title)
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        mark = " MISSED" if row.missed else ""
        gate, aim = f"{sign} {row.gate:g}", f"{sign} {row.aim:g}"
        table.add_row(row.case, f"{row.value:.3f}{mark}", gate, aim, row.note)
    Console().print(table)
    if file is not None:
        figures = [asdict(row) | {"missed": row.missed} for row in rows]
        file.write_text(json.dumps(figures, indent=2) + "\n")
    raise SystemExit(any(row.missed for row in rows))


async def paired(
    measured: Callable[[], Coroutine[Any, Any, float]],
    floor: Callable[[], Coroutine[Any, Any, float]],
    *,
    rounds: int,
) -> tuple[float, float]:
    """Take both in turn, and keep the best of each: the rest is noise of the machine."""
    pairs = [(await measured(), await floor()) for _ in range(rounds)]
    first, second = zip(*pairs, strict=True)
    return min(first), min(second)
