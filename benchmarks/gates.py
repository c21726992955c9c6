"""Rows of a benchmark's table, each with the gate that it must pass."""

from __future__ import annotations

import argparse
import json
import os
import socket
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """A figure, where it must lie and where it should.

    Attributes:
        value: What was measured.
        gate: None where the value is only reported.
        at_least: Whether the gate is the least value, not the greatest.
        note: What the value was made of.
    """

    case: str
    value: float
    gate: float | None
    aim: float
    note: str
    at_least: bool = True

    @property
    def missed(self) -> bool:
        """Whether the gate is missed."""
        if self.gate is None:
            return False
        return self.value < self.gate if self.at_least else self.value > self.gate

    def loosened(self) -> Row:
        """Half of what must be reached, twice of what may be: for a small run on any machine."""
        if self.gate is None:
            return self
        return replace(self, gate=self.gate / 2 if self.at_least else self.gate * 2)


def options(title: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--smoke", action="store_true", help="loosen the gates to half, or twice")
    return parser


def report(title: str, rows: Iterable[Row], args: argparse.Namespace) -> None:
    """Print the table, write the figures if asked to, and exit 1 on a missed gate."""
    rows = [row.loosened() if args.smoke else row for row in rows]
    table = Table("case", "measured", "gate", "aim", "", title=title)
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        mark = " MISSED" if row.missed else ""
        gate = "" if row.gate is None else f"{sign} {row.gate:g}"
        table.add_row(row.case, f"{row.value:.3f}{mark}", gate, f"{sign} {row.aim:g}", row.note)
    Console().print(table)
    if args.json is not None:
        figures = [asdict(row) | {"missed": row.missed} for row in rows]
        args.json.write_text(json.dumps(figures, indent=2) + "\n")
    raise SystemExit(any(row.missed for row in rows))


def server(parser: argparse.ArgumentParser, variable: str) -> str:
    """Return where a server is; a case without its server is a missed one."""
    address = os.environ.get(variable, "")
    url = urlsplit(address if "://" in address else f"//{address}")
    try:
        socket.create_connection((url.hostname or "", url.port or 0), timeout=5).close()
    except OSError as error:
        parser.exit(
            1, f"MISSED: {parser.description}: no server at {variable}={address}: {error}\n"
        )
    return address


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
