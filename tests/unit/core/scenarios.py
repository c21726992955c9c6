"""Behaviours written once, to be shown on the pure engine and on Beam's runners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents.core.agent import Agent, Complete, Suspend
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.testing import AgentHarness
from beam_agents.intents.fingerprint import grant_digest
from tests.unit.core.agents import pay


@dataclass(frozen=True)
class Scenario:
    """What is sent, and what the engine makes of it.

    Attributes:
        name: The behaviour.
        agent: The agent.
        envelopes: What reaches it, in order.
        until_ms: Where time ends; None leaves every timer unfired.
        outputs: Of `.output`, sorted.
        errors: The reasons on `.errors`, sorted.
    """

    name: str
    agent: Agent
    envelopes: Sequence[AgentEnvelope]
    outputs: Sequence[bytes] = ()
    errors: Sequence[str] = ()
    until_ms: int | None = None
    config: AgentConfig = field(default_factory=AgentConfig)

    def __str__(self) -> str:
        return self.name

    def on_the_engine(self) -> AgentHarness:
        """Play it on the pure engine."""
        harness = AgentHarness(self.agent, self.config)
        for envelope in self.envelopes:
            harness.send(envelope)
        if self.until_ms is not None:
            harness.advance_to(self.until_ms)
        return harness


async def remembers(ctx: ActivationContext) -> Complete | Suspend:
    """Completes with all events of the key so far, one after another."""
    grown = ctx.memory + ctx.event
    return Complete(grown, memory=grown)


async def fails_on_poison(ctx: ActivationContext) -> Complete:
    """Stages an effect, and fails on poison."""
    ctx.act("mail", {})
    if ctx.event == b"poison":
        raise ValueError("poison")
    return Complete(ctx.event)


async def two_effects(ctx: ActivationContext) -> Complete | Suspend:
    """Waits for two effects, one after the other."""
    if ctx.snapshot == b"2":
        return Complete(b"both")
    ctx.act("pay", {})
    return Suspend(b"2" if ctx.is_resume else b"1", timeout_ms=30_000)


async def says_when(ctx: ActivationContext) -> Complete | Suspend:
    """Runs once more when nobody answers in time."""
    if ctx.is_resume:
        return Complete(str(ctx.now_ms).encode())
    ctx.act("pay", {})
    return Suspend(b"", timeout_ms=30_000)


async def first_answer(ctx: ActivationContext) -> Complete | Suspend:
    """Waits for the first of two effects."""
    if ctx.is_resume:
        return Complete(str(ctx.value()).encode())
    for shop in ("north", "south"):
        ctx.act("reserve", {"shop": shop})
    return Suspend(b"", timeout_ms=30_000, wait_for="any")


async def asks_first(ctx: ActivationContext) -> Complete | Suspend:
    """Acts only with a person's approval."""
    if not ctx.is_resume:
        ctx.request_approval("pay", {"amount": 500})
    elif ctx.approvals:
        ctx.act("pay", {"amount": 500}, approval=ctx.grant())
    else:
        return Complete(b"paid")
    return Suspend(b"", timeout_ms=30_000)


async def recovers(ctx: ActivationContext) -> Complete | Suspend:
    """Cannot go on before its sixth second."""
    if not ctx.is_resume:
        ctx.act("pay", {})
        return Suspend(b"", timeout_ms=30_000)
    if ctx.now_ms < 6_000:
        raise ValueError("too early")
    return Complete(b"recovered")


def event(key: bytes, payload: bytes, at_ms: int, event_id: str = "") -> AgentEnvelope:
    return AgentEnvelope(
        entity_key=key, event_time_ms=at_ms, external_event=payload, event_id=event_id
    )


def answer(intent: ToolIntent, payload: bytes, at_ms: int) -> AgentEnvelope:
    result = ToolResult(intent_id=intent.intent_id, status=ToolResult.OK, payload=payload)
    return AgentEnvelope(entity_key=intent.entity_key, event_time_ms=at_ms, tool_result=result)


def approval(request: ToolIntent, at_ms: int) -> AgentEnvelope:
    digest = grant_digest(
        namespace=request.namespace,
        entity_key=request.entity_key,
        tool_name=request.tool_name,
        args_json=request.args_json,
    )
    decision = AgentEnvelope.Approval(
        intent_id=request.intent_id, approved=True, decided_at_ms=at_ms, args_digest=digest
    )
    return AgentEnvelope(entity_key=request.entity_key, event_time_ms=at_ms, approval=decision)


def retry(key: bytes, seq: int, at_ms: int) -> AgentEnvelope:
    envelope = AgentEnvelope(entity_key=key, event_time_ms=at_ms)
    envelope.retry.seq = seq
    return envelope


def of_namespace(envelope: AgentEnvelope, namespace: str) -> AgentEnvelope:
    moved = AgentEnvelope()
    moved.CopyFrom(envelope)
    moved.tool_result.namespace = namespace
    return moved


def intents_of(agent: Agent, *envelopes: AgentEnvelope) -> list[ToolIntent]:
    """The intents that an agent stages: their ids follow from their position."""
    harness = AgentHarness(agent)
    for envelope in envelopes:
        harness.send(envelope)
    return harness.intents


_BEGIN = event(b"a", b"e", 1_000)
_PAYMENT = intents_of(pay, _BEGIN)[0]
_FIRST = intents_of(two_effects, _BEGIN)[0]
_SECOND = intents_of(two_effects, _BEGIN, answer(_FIRST, b"1", 2_000))[1]
_NORTH, _SOUTH = intents_of(first_answer, _BEGIN)
_REQUEST = intents_of(asks_first, _BEGIN)[0]
_EFFECT = intents_of(asks_first, _BEGIN, approval(_REQUEST, 2_000))[1]
_RECOVERY = intents_of(recovers, _BEGIN)[0]

SCENARIOS = [
    Scenario(
        "an_answer_resumes",
        pay,
        [_BEGIN, answer(_PAYMENT, b"1", 2_000)],
        outputs=[b"e: OK 1"],
    ),
    Scenario(
        "a_repeated_answer_resumes_once",
        pay,
        [_BEGIN, answer(_PAYMENT, b"1", 2_000), answer(_PAYMENT, b"1", 2_000)],
        outputs=[b"e: OK 1"],
    ),
    Scenario(
        "an_early_answer_is_kept",
        pay,
        [answer(_PAYMENT, b"1", 500), _BEGIN],
        outputs=[b"e: OK 1"],
    ),
    Scenario(
        "two_rounds_of_one_activation",
        two_effects,
        [_BEGIN, answer(_FIRST, b"1", 2_000), answer(_SECOND, b"2", 3_000)],
        outputs=[b"both"],
    ),
    Scenario(
        "events_of_a_key_run_in_order",
        remembers,
        [event(b"a", b"1", 1), event(b"b", b"x", 2), event(b"a", b"2", 3), event(b"a", b"3", 4)],
        outputs=[b"1", b"12", b"123", b"x"],
    ),
    Scenario(
        "a_repeated_event_is_dropped",
        remembers,
        [event(b"a", b"1", 1, "evt"), event(b"a", b"1", 2, "evt")],
        outputs=[b"1"],
    ),
    Scenario(
        "a_failure_is_reported_and_the_next_event_runs",
        fails_on_poison,
        [event(b"a", b"poison", 1), event(b"a", b"e", 2)],
        outputs=[b"e"],
        errors=["agent_failed"],
    ),
    Scenario(
        "a_malformed_envelope_is_reported",
        pay,
        [AgentEnvelope(entity_key=b"a")],
        errors=["malformed"],
    ),
    Scenario(
        "a_suspension_ends_closed",
        pay,
        [_BEGIN],
        errors=["suspension_timeout"],
        until_ms=40_000,
    ),
    Scenario(
        "a_suspension_may_end_in_a_resume",
        says_when,
        [_BEGIN],
        outputs=[b"31000"],
        until_ms=40_000,
        config=AgentConfig(on_timeout="resume"),
    ),
    Scenario(
        "a_queued_event_runs_after_a_timeout",
        pay,
        [_BEGIN, event(b"a", b"f", 2_000)],
        errors=["suspension_timeout", "suspension_timeout"],
        until_ms=100_000,
    ),
    Scenario(
        "any_resumes_at_the_first_answer",
        first_answer,
        [_BEGIN, answer(_SOUTH, b'"south"', 2_000), answer(_NORTH, b'"north"', 3_000)],
        outputs=[b"south"],
    ),
    Scenario(
        "an_approval_given_three_times_acts_once",
        asks_first,
        [
            _BEGIN,
            approval(_REQUEST, 2_000),
            approval(_REQUEST, 2_000),
            answer(_EFFECT, b"1", 3_000),
            approval(_REQUEST, 2_000),
        ],
        outputs=[b"paid"],
    ),
    Scenario(
        "a_retry_goes_on_where_a_resume_failed",
        recovers,
        [_BEGIN, answer(_RECOVERY, b"1", 2_000), retry(b"a", 0, 6_000)],
        outputs=[b"recovered"],
        errors=["resume_failed"],
    ),
    Scenario(
        "a_hold_ends",
        recovers,
        [_BEGIN, answer(_RECOVERY, b"1", 2_000), event(b"a", b"f", 3_000)],
        errors=["hold_ended", "resume_failed", "suspension_timeout"],
        until_ms=50_000,
        config=AgentConfig(hold_ms=5_000),
    ),
    Scenario(
        "the_answer_of_another_namespace_is_dropped",
        pay,
        [_BEGIN, of_namespace(answer(_PAYMENT, b"1", 2_000), "other")],
        errors=["suspension_timeout"],
        until_ms=40_000,
    ),
    Scenario(
        "a_full_queue_refuses_the_newest",
        pay,
        [
            _BEGIN,
            event(b"a", b"f", 2_000),
            event(b"a", b"g", 3_000),
            answer(_PAYMENT, b"1", 4_000),
        ],
        outputs=[b"e: OK 1"],
        errors=["queue_full", "suspension_timeout"],
        until_ms=40_000,
        config=AgentConfig(max_queued_events=1),
    ),
]
