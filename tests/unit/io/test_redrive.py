"""Each kind of error record, as the engine makes it, and what becomes of it at a redrive."""

from __future__ import annotations

import pytest

from beam_agents._protos import ActivationErrorRecord, AgentEnvelope, ToolResult
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.testing import AgentHarness
from beam_agents.io import NotRedrivable, redrive

KEY = b"acct-1"


class Flaky:
    """An agent that refunds, and fails where a test wants it to."""

    def __init__(self) -> None:
        self.fails_fresh = False
        self.fails_resume = False

    async def __call__(self, ctx: ActivationContext) -> Complete | Suspend:
        if self.fails_resume if ctx.is_resume else self.fails_fresh:
            raise RuntimeError("a bad release")
        if ctx.is_resume:
            return Complete(ctx.snapshot)
        ctx.act("payments.refund", {})
        return Suspend(ctx.event, timeout_ms=10_000)


def harness(agent: Flaky, config: AgentConfig | None = None) -> AgentHarness:
    async def run(ctx: ActivationContext) -> Complete | Suspend:
        return await agent(ctx)

    return AgentHarness(run, config)


def test_a_failed_event_comes_again_as_a_new_activation() -> None:
    agent = Flaky()
    agent.fails_fresh = True
    engine = harness(agent)
    engine.event(KEY, b"e", at_ms=1_000, event_id="evt")
    agent.fails_fresh = False

    envelope = redrive(engine.errors[0], 5_000)
    engine.send(envelope)

    assert (envelope.event_time_ms, envelope.event_id) == (5_000, "evt")
    (intent,) = engine.intents
    assert (intent.seq, intent.created_at_ms) == (1, 5_000)


def test_a_resume_that_failed_is_run_again_with_its_answer() -> None:
    agent = Flaky()
    agent.fails_resume = True
    engine = harness(agent)
    engine.event(KEY, b"e", at_ms=1_000)
    engine.result(engine.intents[0], at_ms=2_000)
    agent.fails_resume = False

    engine.send(redrive(engine.errors[0], 5_000))

    assert engine.outputs == [b"e"]
    assert len(engine.intents) == 1


def test_an_event_that_was_too_old_is_as_old_as_its_redrive() -> None:
    engine = harness(Flaky(), AgentConfig(max_event_age_ms=1_000))
    old = AgentEnvelope(
        entity_key=KEY, external_event=b"e", event_time_ms=1_000, received_at_ms=9_000
    )
    engine.send(old)

    engine.send(redrive(engine.errors[0], 9_000))

    assert len(engine.intents) == 1


def test_an_answer_that_was_not_verified_can_be_sent_again() -> None:
    record = ActivationErrorRecord(
        entity_key=KEY,
        reason="unverified",
        envelope=AgentEnvelope(entity_key=KEY, tool_result=ToolResult(intent_id="i")),
    )

    assert redrive(record, 5_000).tool_result.intent_id == "i"


def test_what_has_requested_effects_is_not_requested_again() -> None:
    engine = harness(Flaky())
    engine.event(KEY, b"e", at_ms=1_000)
    engine.advance_to(60_000)

    assert [error.reason for error in engine.errors] == ["suspension_timeout"]
    with pytest.raises(NotRedrivable, match="1 effects were requested"):
        redrive(engine.errors[0], 70_000)


def test_a_record_that_was_never_an_envelope_stays_where_it_is() -> None:
    record = ActivationErrorRecord(reason="undecodable", detail="record 7 of topic 'events': no")

    with pytest.raises(NotRedrivable, match="record 7 of topic 'events'"):
        redrive(record, 5_000)
