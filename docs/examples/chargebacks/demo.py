"""The whole loop on one machine, with one crash survived: run it by `make demo`.

A pipeline process reads chargebacks and asks for refunds, two effector processes
stand by to perform them, and a ledger counts every call that reaches it. In the
middle of the run the effector that works is killed with SIGKILL, inside a refund.
The exit code is 0 only if every event got its output all the same, and the ledger
has exactly one refund for each.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from chargebacks import BadLine, Chargeback, read_chargebacks
from crash import Crash, kill_the_working_effector
from ledger import Totals
from processes import ProcessDied, Supervisor, wait_for
from verdict import Verdict, judge
from world import World

HERE = Path(__file__).resolve().parent
PROGRESS = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn())


def feed(events: Path, world: World, console: Console) -> list[Chargeback]:
    """Put the file's events on the bus; name the lines that are none."""
    accepted = []
    for event in read_chargebacks(events):
        if isinstance(event, BadLine):
            console.print(f"{events}:{event.number}: skipped: {event.reason}")
        else:
            accepted.append(event)
    world.publish(accepted)
    return accepted


class PipelineFailed(RuntimeError):
    """An event got an error instead of its output."""


class Progressed(NamedTuple):
    """How far the run is."""

    books: Totals
    outputs: int


def survive_a_crash(total: int, world: World, console: Console) -> Crash:
    """Run until every event has its output, killing one effector after a quarter of the calls."""
    with Progress(*PROGRESS, TimeElapsedColumn(), console=console) as progress:
        refunds = progress.add_task("refunds performed", total=total)
        outputs = progress.add_task("outputs", total=total)

        def look() -> Progressed:
            seen = Progressed(world.ledger.totals(), world.outputs())
            progress.update(refunds, completed=seen.books.refunds)
            progress.update(outputs, completed=seen.outputs)
            if error := world.first_error():
                raise PipelineFailed(error)
            return seen

        wait_for(lambda: look().books.invocations >= max(1, total // 4), world.supervisor)
        crash = kill_the_working_effector(world)
        progress.print(
            f"SIGKILL inside {crash.in_flight} refunds (pid {crash.pid});"
            f" the other effector went on after {crash.recovery_ms:,} ms"
        )
        wait_for(lambda: look().outputs >= total, world.supervisor)
    return crash


def show(verdict: Verdict, crash: Crash, console: Console) -> None:
    table = Table(title="One SIGKILL survived", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in {**verdict.counts, "time to recover, ms": crash.recovery_ms}.items():
        table.add_row(name, f"{value:,}")
    console.print(table)
    for fault in verdict.faults:
        console.print(f"[red]FAULT[/red] {fault}")


def run(events: Path, world: World, console: Console) -> int:
    accepted = feed(events, world, console)
    if not accepted:
        console.print(f"{events}: no usable event")
        return 2
    try:
        world.start(len(accepted))
        crash = survive_a_crash(len(accepted), world, console)
    finally:
        world.supervisor.stop_all()
    verdict = judge(accepted, world.bus, world.ledger)
    show(verdict, crash, console)
    console.print(f"bus, books, states and logs: {world.folder}", soft_wrap=True)
    return 1 if verdict.faults else 0


def leave(number: int, _: object) -> None:
    """End the run by a signal; a second one must not interrupt the ending of the processes."""
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--events", type=Path, default=HERE / "events.jsonl", help="chargebacks as JSON lines"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path(".demo"), help="where the files go; emptied first"
    )
    args = parser.parse_args()
    if not args.events.is_file():
        parser.error(f"no such file: {args.events}")
    shutil.rmtree(args.folder, ignore_errors=True)
    args.folder.mkdir(parents=True)
    world = World(args.folder.resolve(), Supervisor(args.folder.resolve() / "logs", cwd=HERE))
    # However the demo is ended, its processes are ended with it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    try:
        sys.exit(run(args.events, world, Console()))
    except (PipelineFailed, ProcessDied, TimeoutError) as error:
        sys.exit(f"demo: {error}")


if __name__ == "__main__":
    main()
