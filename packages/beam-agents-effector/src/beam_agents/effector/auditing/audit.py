"""An audit from beginning to end: reads every topic and file, then asks every question."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from beam_agents.effector.auditing.checks import CHECKS, Check, Terms, Violation
from beam_agents.effector.auditing.evidence import Evidence, gathering
from beam_agents.effector.auditing.lines import add_faults, add_ledger
from beam_agents.effector.auditing.records import (
    IntentRecords,
    add_dead_letter,
    add_request,
    add_result,
)
from beam_agents.effector.ports import Browser, Delivery

Add: TypeAlias = Callable[[Delivery, Evidence], None]


class Progress(Protocol):
    """Is told how far the reading of a topic is."""

    def begin(self, name: str, extent: int) -> None:
        """A topic of so many places is about to be read."""

    def advance(self) -> None:
        """One more record was read."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What to read.

    Attributes:
        intents: The intents topic.
        results: The results topic.
        dead_letters: The dead-letter topic.
        approvals: The topic of approval requests.
        ledger: A file with a line for each call of a tool.
        faults: A file with a line for each fault of a worker.
        intent_records: How intents are judged as they are read.
    """

    intents: Browser
    results: Browser
    dead_letters: Browser | None = None
    approvals: Browser | None = None
    ledger: Path | None = None
    faults: Path | None = None
    intent_records: IntentRecords = field(default_factory=IntentRecords)

    def topics(self) -> Mapping[str, tuple[Browser, Add]]:
        """Name the topics that there are, each with what is kept of its records.

        In the order in which to read them while work goes on: intents come last, so that
        whatever answers one is not taken for a stranger's; what is answered meanwhile is
        open by its deadline.
        """
        topics: dict[str, tuple[Browser | None, Add]] = {
            "results": (self.results, add_result),
            "dead letters": (self.dead_letters, add_dead_letter),
            "approvals": (self.approvals, add_request),
            "intents": (self.intents, self.intent_records.add),
        }
        return {name: (topic, add) for name, (topic, add) in topics.items() if topic is not None}

    def given(self) -> frozenset[str]:
        """Name what there is to read."""
        files = {"ledger": self.ledger, "faults": self.faults}
        names = {*self.topics(), *(name for name, path in files.items() if path is not None)}
        return frozenset(names | ({"registry"} if self.intent_records.registry else set()))


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of one check.

    Attributes:
        check: The guarantee.
        violations: The first of them, up to the limit.
        more: How many others there are.
        missing: What would have to be given to judge it; empty if it was judged.
    """

    check: Check
    violations: tuple[Violation, ...] = ()
    more: int = 0
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What an audit found.

    Attributes:
        judgements: One for each check, in the order of `CHECKS`.
        counts: How many records of each kind were read, and how many calls were repeats.
    """

    judgements: tuple[Judgement, ...]
    counts: Mapping[str, int]

    @property
    def holds(self) -> bool:
        """Whether every guarantee that was judged was kept."""
        return not any(each.violations for each in self.judgements)


async def audit(sources: Sources, terms: Terms, progress: Progress, *, limit: int = 20) -> Report:
    """Read everything, and judge it.

    Args:
        sources: What to read.
        terms: How to judge; what is given is added.
        progress: Is told how far the reading is.
        limit: How many violations of a check to keep.

    Raises:
        EffectorError: A topic or file cannot be read.
    """
    with gathering() as evidence:
        for name, (topic, add) in sources.topics().items():
            if name == "intents":
                _read_files(sources, evidence)
            await _read(name, topic, add, evidence, progress)
        evidence.complete()
        given = Terms(terms.now_ms, terms.tolerance_ms, terms.settled, sources.given())
        judgements = tuple(_judge(check, evidence, given, limit) for check in CHECKS)
        return Report(judgements, _counts(evidence))


def _read_files(sources: Sources, evidence: Evidence) -> None:
    if sources.ledger is not None:
        add_ledger(sources.ledger, evidence)
    if sources.faults is not None:
        add_faults(sources.faults, evidence)


async def _read(
    name: str, topic: Browser, add: Add, evidence: Evidence, progress: Progress
) -> None:
    try:
        await topic.open()
        progress.begin(name, topic.extent)
        async for record in topic.records():
            add(record, evidence)
            progress.advance()
    finally:
        await topic.aclose()


def _judge(check: Check, evidence: Evidence, terms: Terms, limit: int) -> Judgement:
    missing = check.missing(terms)
    if missing:
        return Judgement(check, missing=tuple(missing))
    violations = check.violations(evidence, terms)
    first = tuple(itertools.islice(violations, limit))
    return Judgement(check, first, more=sum(1 for _ in violations))


def _counts(evidence: Evidence) -> dict[str, int]:
    tables = ("intents", "unreadable", "results", "dead_letters", "requests", "invocations")
    counts = {table: evidence.count(table) for table in tables}
    [(distinct, repeats)] = evidence.ask(
        "SELECT (SELECT count(DISTINCT id) FROM intents),"
        " (SELECT count(*) - count(DISTINCT id) FROM invocations)"
    )
    return {**counts, "distinct_intents": int(str(distinct)), "repeats": int(str(repeats))}
