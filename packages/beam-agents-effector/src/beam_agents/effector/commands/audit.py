"""Judges topics and ledgers against the guarantees, and says so with evidence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from beam_agents.effector.auditing.audit import Judgement, Report, Sources, audit
from beam_agents.effector.auditing.checks import Terms
from beam_agents.effector.auditing.records import IntentRecords
from beam_agents.effector.clock import SystemClock
from beam_agents.effector.commands.connecting import (
    answering,
    complain,
    connections,
    given_or_set,
    read_optional,
)
from beam_agents.effector.ports import Browser
from beam_agents.effector.printable import printable
from beam_agents.effector.schemes import open_browser
from beam_agents.intents.keyring import Keyring
from beam_agents.tools import ToolRegistry

BROKEN = 3


@dataclass(frozen=True, slots=True)
class Question:
    """What to audit, as the command line gives it; what it leaves out, the environment may say."""

    intents: str | None = None
    results: str | None = None
    dead_letters: str | None = None
    approvals: str | None = None
    registry: str | None = None
    approval_keys: str | None = None
    ledger: Path | None = None
    faults: Path | None = None
    tolerance_ms: int = 5_000
    settled: bool = False


def run_audit(question: Question, *, as_json: bool, limit: int) -> int:
    """Print whether each guarantee was kept.

    Returns:
        0 where all that was judged hold, 3 where one does not, 1 where a server does
        not answer, 2 for a mistake.
    """

    def command() -> int:
        terms = Terms(SystemClock().now_ms(), question.tolerance_ms, question.settled)
        with _progress() as progress:
            report = asyncio.run(audit(_sources(question), terms, progress, limit=limit))
        for line in _as_json(report) if as_json else _in_words(report):
            print(line)  # noqa: T201
        if report.holds:
            return complain("what was judged holds", 0)
        return complain("a guarantee was not kept", BROKEN)

    return answering(command)


class _Bars:
    """Shows how far the reading is, a bar for each topic."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._current = progress.add_task("", visible=False)

    def begin(self, name: str, extent: int) -> None:
        self._current = self._progress.add_task(name, total=extent)

    def advance(self) -> None:
        self._progress.advance(self._current)


@contextmanager
def _progress() -> Iterator[_Bars]:
    """Show bars on stderr, where somebody looks at it."""
    console = Console(stderr=True)
    columns = (
        TextColumn("reading {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        yield _Bars(progress)


def _sources(question: Question) -> Sources:
    registry = read_optional("registry", question.registry)
    keys = read_optional("approval_keys", question.approval_keys)
    return Sources(
        intents=open_browser(given_or_set("intents_from", question.intents), connections()),
        results=open_browser(given_or_set("results_to", question.results), connections()),
        dead_letters=_if_there(read_optional("dead_letters_to", question.dead_letters)),
        approvals=_if_there(read_optional("approvals_to", question.approvals)),
        ledger=question.ledger,
        faults=question.faults,
        intent_records=IntentRecords(
            ToolRegistry.load(registry) if registry else None,
            Keyring.load(keys) if keys else None,
        ),
    )


def _if_there(uri: str | None) -> Browser | None:
    return None if uri is None else open_browser(uri, connections())


def _in_words(report: Report) -> Iterator[str]:
    counts = report.counts
    yield (
        f"{counts['intents']} records of {counts['distinct_intents']} intents, "
        f"{counts['results']} results, {counts['dead_letters']} dead letters, "
        f"{counts['invocations']} invocations, of which {counts['repeats']} repeats"
    )
    for judgement in report.judgements:
        yield f"{_verdict(judgement):<10} {judgement.check.promise}"
        for violation in judgement.violations:
            yield f"           {printable(violation.intent_id)} {printable(violation.evidence)}"
        if judgement.more:
            yield f"           and {judgement.more} more"
        if judgement.missing:
            yield f"           to judge it, give: {', '.join(judgement.missing)}"


def _verdict(judgement: Judgement) -> str:
    if judgement.missing:
        return "not judged"
    return "BROKEN" if judgement.violations else "holds"


def _as_json(report: Report) -> Iterator[str]:
    for judgement in report.judgements:
        yield json.dumps(
            {
                "check": judgement.check.name,
                "promise": judgement.check.promise,
                "verdict": _verdict(judgement),
                "violations": [
                    {"intent_id": each.intent_id, "evidence": each.evidence}
                    for each in judgement.violations
                ],
                "more": judgement.more,
                "missing": list(judgement.missing),
            }
        )
    yield json.dumps({"counts": dict(report.counts)})
