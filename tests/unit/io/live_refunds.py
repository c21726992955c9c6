"""A live pipeline to be run, killed and run again; and what a test does from outside."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from beam_agents._protos import ActivationErrorRecord, Completion, ToolIntent, ToolResult
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.embedded import EmbeddedBus
from beam_agents.intents.fingerprint import fingerprint
from beam_agents.intents.topics import type_header
from beam_agents.io import (
    AgentLoop,
    InboundRecord,
    LocalLoopRunner,
    ReadEvents,
    WriteCompletions,
    WriteErrors,
)

PATIENCE_S = 90.0
SHORT_TIMEOUT_MS = 300
LONG_TIMEOUT_MS = 600_000


async def refund(ctx: ActivationContext) -> Complete | Suspend:
    """Refund; on "ask" a person is asked only, on "quiet" the answer is not long waited for."""
    if ctx.resume_approval is not None:
        return Complete(output=ctx.snapshot + b" " + ctx.resume_approval.approver.encode())
    if ctx.is_resume:
        return Complete(output=ctx.snapshot + b" " + str(ctx.value()).encode())
    args = {"event": ctx.event.decode()}
    if ctx.event.startswith(b"ask"):
        ctx.request_approval("payments.refund", args)
    else:
        ctx.act("payments.refund", args)
    short = ctx.event.startswith(b"quiet")
    return Suspend(snapshot=ctx.event, timeout_ms=SHORT_TIMEOUT_MS if short else LONG_TIMEOUT_MS)


def event_id(record: InboundRecord) -> str:
    return (record.value or b"").decode()


def run(bus: str, state: str, batch_size: int) -> None:
    """Run the pipeline until it is stopped."""
    pipeline = beam.Pipeline(
        runner=LocalLoopRunner(state=state, batch_size=batch_size), options=PipelineOptions([])
    )

    def topic(name: str) -> str:
        return f"sqlite:///{bus}?topic={name}"

    events = pipeline | "Events" >> ReadEvents(
        topic("events") + "&idle_after_ms=100", key=lambda r: r.key, event_id=event_id
    )
    refunds = events.envelopes | "Refunds" >> AgentLoop(
        refund,
        AgentConfig(namespace="refunds"),
        results_from=topic("results") + "&idle_after_ms=100",
        decisions_from=topic("decisions") + "&idle_after_ms=100",
        intents_to=topic("intents"),
        errors_to=topic("errors"),
    )
    _ = events.errors | "EventErrors" >> WriteErrors(topic("errors"))
    _ = refunds.completions | "Completions" >> WriteCompletions(topic("completions"))
    pipeline.run().wait_until_finish()


# Imports Beam once, and starts every pipeline process from there.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])


@dataclass
class Refunds:
    """The bus, and the part of the effector, played by hand."""

    folder: Path
    batch_size: int = 500
    answered: set[str] = field(default_factory=set)
    _next_intent: int = 0

    def __post_init__(self) -> None:
        self.bus = EmbeddedBus(self.folder / "bus.sqlite")
        self.state_path = self.folder / "loop.sqlite"

    @contextmanager
    def pipeline(self) -> Iterator[ForkServerProcess]:
        """Run a pipeline process; it is killed at the end, if it still runs."""
        arguments = (str(self.bus.path), str(self.state_path), self.batch_size)
        process = _context.Process(target=run, args=arguments)
        process.start()
        try:
            yield process
        finally:
            if process.is_alive():
                kill(process)

    def publish(self, key: bytes, value: bytes) -> None:
        self.bus.publish("events", key=key, value=value)

    def answer(self) -> None:
        """Answer each new intent once, and repeats of it not again."""
        for record in self.bus.records("intents", start=self._next_intent):
            self._next_intent = record.offset + 1
            intent = ToolIntent.FromString(record.value or b"")
            if intent.intent_id in self.answered or intent.kind == ToolIntent.APPROVAL:
                continue
            self.answered.add(intent.intent_id)
            result = ToolResult(
                intent_id=intent.intent_id,
                entity_key=intent.entity_key,
                seq=intent.seq,
                step_index=intent.step_index,
                status=ToolResult.OK,
                outcome=ToolResult.APPLIED,
                payload=b'"refunded"',
                completed_at_ms=time.time_ns() // 1_000_000,
                fingerprint=fingerprint(intent),
                namespace=intent.namespace,
            )
            self.bus.publish(
                "results",
                key=intent.entity_key,
                value=result.SerializeToString(),
                headers=(type_header(ToolResult),),
            )

    def intents(self) -> list[ToolIntent]:
        return [ToolIntent.FromString(r.value or b"") for r in self.bus.records("intents")]

    def completions(self) -> list[Completion]:
        return [Completion.FromString(r.value or b"") for r in self.bus.records("completions")]

    def errors(self) -> list[ActivationErrorRecord]:
        records = self.bus.records("errors")
        return [ActivationErrorRecord.FromString(r.value or b"") for r in records]

    def saved_position(self, topic: str) -> int:
        """Say where the last checkpoint stands in a topic."""
        with closing(sqlite3.connect(self.state_path)) as state:
            try:
                rows = state.execute(
                    "SELECT next_offset FROM loop_positions WHERE log_id LIKE ?", (f"%:{topic}",)
                ).fetchall()
            except sqlite3.OperationalError:  # not made yet
                return 0
        return int(rows[0][0]) if rows else 0

    def activations_by_event(self) -> dict[bytes, set[tuple[bytes, int]]]:
        """Which (key, seq) completed each event."""
        found = defaultdict(set)
        for done in self.completions():
            found[done.output.split(b" ")[0]].add((done.entity_key, done.seq))
        return dict(found)

    def until(self, condition: Callable[[], bool], *, answering: bool = True) -> None:
        """Wait, and meanwhile answer."""
        give_up = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < give_up, "nothing happened"
            if answering:
                self.answer()
            time.sleep(0.01)


def kill(process: ForkServerProcess) -> None:
    """SIGKILL: no cleanup of its own runs."""
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
