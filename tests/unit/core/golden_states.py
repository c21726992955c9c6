"""Key states that releases must go on reading: how each came about, and how it goes on.

`python -m tests.unit.core.golden_states` writes those of the current schema version
to `golden/`. Files of a version that was released are never written again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.state import SCHEMA_VERSION
from beam_agents.core.testing import AgentHarness
from tests.unit.core.agents import KEY, TIMEOUT_MS

GOLDEN = Path(__file__).parent / "golden"
START_MS = 1_700_000_000_000
CONFIG = AgentConfig(namespace="golden", ttl_ms=60_000)


async def refunds(ctx: ActivationContext) -> Complete | Suspend:
    """Requests an effect, asks a person, waits for both, and counts its activations."""
    if not ctx.is_resume:
        ctx.act("notify", {"event": ctx.event.decode()})
        ctx.request_approval("refund", {"amount": 4200}, summary="a refund")
        return Suspend(ctx.event, "golden", TIMEOUT_MS, version=3, memory=ctx.memory + b"+")
    if ctx.value(next(iter(ctx.results))) == "poison":
        raise ValueError("poison")
    grant = ctx.grant(next(iter(ctx.approvals)))
    ctx.act("refund", {"amount": 4200}, approval=grant)
    parts = [ctx.snapshot, ctx.adapter, ctx.snapshot_version, grant.approver, ctx.memory]
    return Complete(repr(parts).encode())


@dataclass(frozen=True)
class Golden:
    """One state.

    Attributes:
        name: Of its file.
        lived: What the key had been through.
        goes_on: What comes next, given the intents so far.
    """

    name: str
    lived: Callable[[AgentHarness], None]
    goes_on: Callable[[AgentHarness, Sequence[ToolIntent]], None]

    def __str__(self) -> str:
        return self.name

    @property
    def cell(self) -> bytes:
        """The state as the harness has it now."""
        return self.after_its_life().cell(KEY)

    def after_its_life(self) -> AgentHarness:
        """A harness with the key in this state."""
        harness = AgentHarness(refunds, CONFIG)
        self.lived(harness)
        return harness

    def file(self, version: int) -> Path:
        """Where it is kept, in hexadecimal."""
        return GOLDEN / f"v{version}" / f"{self.name}.hex"


def suspend(harness: AgentHarness) -> None:
    harness.event(KEY, b"first", at_ms=START_MS, event_id="evt-1")


def answer_one(harness: AgentHarness) -> None:
    suspend(harness)
    harness.result(harness.intents[0], b'"sent"', at_ms=START_MS + 1)


def crowd(harness: AgentHarness) -> None:
    """An event waits, and an answer that came before its suspension."""
    suspend(harness)
    harness.event(KEY, b"second", at_ms=START_MS + 2, event_id="evt-2")
    ahead = AgentHarness(refunds, CONFIG)
    resume(ahead_of(ahead), ahead.intents)
    harness.result(ahead.intents[-2], b'"early"', at_ms=START_MS + 3)


def ahead_of(harness: AgentHarness) -> AgentHarness:
    """A harness where the second event came as well."""
    suspend(harness)
    harness.event(KEY, b"second", at_ms=START_MS + 2, event_id="evt-2")
    return harness


def hold(harness: AgentHarness) -> None:
    suspend(harness)
    harness.result(harness.intents[0], b'"poison"', at_ms=START_MS + 1)
    harness.approve(harness.intents[1], approver="ann", at_ms=START_MS + 2)


def time_out(harness: AgentHarness) -> None:
    suspend(harness)
    harness.advance_to(START_MS + TIMEOUT_MS)


def complete(harness: AgentHarness) -> None:
    suspend(harness)
    resume(harness, harness.intents)


def idle(harness: AgentHarness) -> None:
    complete(harness)
    harness.advance_to(START_MS + 100_000)


def resume(harness: AgentHarness, intents: Sequence[ToolIntent]) -> None:
    harness.result(intents[0], b'"sent"', at_ms=START_MS + 4)
    harness.approve(intents[1], approver="ann", at_ms=START_MS + 5)


def retry(harness: AgentHarness, intents: Sequence[ToolIntent]) -> None:
    harness.retry(KEY, 0, at_ms=START_MS + 6)
    harness.advance_to(START_MS + 2 * CONFIG.hold_ms)


def answer_late(harness: AgentHarness, intents: Sequence[ToolIntent]) -> None:
    harness.result(intents[0], status=ToolResult.ERROR, at_ms=START_MS + 40_000)


def repeat_and_begin(harness: AgentHarness, intents: Sequence[ToolIntent]) -> None:
    resume(harness, intents)
    harness.event(KEY, b"first", at_ms=START_MS, event_id="evt-1")
    harness.event(KEY, b"next", at_ms=START_MS + 200_000)


STATES = [
    Golden("suspended", suspend, resume),
    Golden("one_of_two_answered", answer_one, resume),
    Golden("queued_and_parked", crowd, resume),
    Golden("held", hold, retry),
    Golden("timed_out", time_out, answer_late),
    Golden("completed", complete, repeat_and_begin),
    Golden("tombstone", idle, repeat_and_begin),
]


if __name__ == "__main__":
    for state in STATES:
        path = state.file(SCHEMA_VERSION)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(state.cell.hex() + "\n")
