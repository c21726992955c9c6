"""Traces: one record for each run of an agent function, told from what the run emitted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from time import perf_counter_ns
from typing import TypeAlias

from beam_agents._protos import ActivationTrace, Completion, ToolIntent
from beam_agents.core.emissions import Emission
from beam_agents.core.invocation import Failed
from beam_agents.core.metrics import Metric
from beam_agents.core.run import Run
from beam_agents.core.turn import Turn

Runner: TypeAlias = Callable[[Turn, Run], Awaitable["Failed | None"]]

_KEY_DIGEST_BYTES = 8


class Traced:
    """A runner that also emits an `ActivationTrace`.

    Args:
        runner: Runs the agent and commits.
        with_payloads: Whether traces hold what runs were given and gave.
    """

    def __init__(self, runner: Runner, *, with_payloads: bool) -> None:
        self._runner = runner
        self._with_payloads = with_payloads

    async def __call__(self, turn: Turn, run: Run) -> Failed | None:
        """Run, then report. The measured time goes nowhere but into the trace."""
        before, began_ns = len(turn.emissions), perf_counter_ns()
        failed = await self._runner(turn, run)
        run_us = (perf_counter_ns() - began_ns) // 1_000
        emitted = turn.emissions[before:]
        trace = _trace_of(run, emitted, failed, run_us)
        if self._with_payloads:
            _add_payloads(trace, turn, run, emitted)
        turn.emissions.append(trace)
        return failed


def _trace_of(
    run: Run, emitted: Sequence[Emission], failed: Failed | None, run_us: int
) -> ActivationTrace:
    staged = sum(isinstance(each, ToolIntent) for each in emitted)
    return ActivationTrace(
        trace_id=run.trace_id,
        key_digest=sha256(run.key).digest()[:_KEY_DIGEST_BYTES],
        namespace=run.namespace,
        seq=run.seq,
        is_resume=run.continuation is not None,
        first_step=run.first_step,
        next_step=run.first_step + staged,
        model_calls=run.model_calls,
        event_time_ms=run.event_time_ms,
        now_ms=run.now_ms,
        run_us=run_us,
        outcome=_outcome(emitted, failed),
        reason=failed.reason if failed is not None else "",
    )


def _outcome(emitted: Sequence[Emission], failed: Failed | None) -> ActivationTrace.Outcome:
    if failed is not None:
        return ActivationTrace.FAILED
    if Metric.SUSPENSIONS in emitted:
        return ActivationTrace.SUSPENDED
    return ActivationTrace.COMPLETED


def _add_payloads(
    trace: ActivationTrace, turn: Turn, run: Run, emitted: Sequence[Emission]
) -> None:
    if run.event is not None:
        trace.event = run.event.external_event
    if run.continuation is not None:
        trace.snapshot = run.continuation.snapshot
    if trace.outcome == ActivationTrace.SUSPENDED:
        trace.next_snapshot = turn.state.continuation.snapshot
    for each in emitted:
        if isinstance(each, ToolIntent):
            trace.intents.append(each)
        elif isinstance(each, Completion):
            trace.output = each.output
