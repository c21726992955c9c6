"""Deadlines: a suspension always ends, and closed unless the agent asked otherwise."""

from __future__ import annotations

from beam_agents._protos import ToolResult
from beam_agents.core.activation import ActivationEngine
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.loop import run
from beam_agents.core.metrics import Metric
from beam_agents.core.testing import AgentHarness
from tests.unit.core.agents import KEY, TIMEOUT_MS, pay


def suspended() -> AgentHarness:
    harness = AgentHarness(pay)
    harness.event(KEY, b"e", at_ms=1_000)
    return harness


def test_a_suspension_ends_closed_at_its_deadline() -> None:
    harness = suspended()

    harness.advance_to(999 + TIMEOUT_MS)
    assert harness.errors == []
    harness.advance_to(1_000 + TIMEOUT_MS)

    (error,) = harness.errors
    assert error.reason == "suspension_timeout"
    assert list(error.requested_intent_ids) == [harness.intents[0].intent_id]
    assert error.event_time_ms == 1_000 + TIMEOUT_MS
    assert harness.outputs == []
    assert harness.completions == []


def test_a_deadline_passes_only_once() -> None:
    harness = suspended()

    harness.advance_to(100_000)
    harness.advance_to(200_000)

    assert len(harness.errors) == 1
    assert harness.metrics[Metric.SUSPENSION_TIMEOUTS] == 1


def test_a_stale_timer_finds_nothing_due() -> None:
    harness = suspended()
    state = harness.state(KEY)
    before = state.SerializeToString()

    emissions = run(ActivationEngine(pay, AgentConfig()).on_time(KEY, state, 5_000))

    assert emissions == []
    assert state.SerializeToString() == before


def test_the_answers_that_did_come_are_in_the_record() -> None:
    async def two(ctx: ActivationContext) -> Suspend:
        ctx.act("pay", {})
        ctx.act("pay", {})
        return Suspend(b"", timeout_ms=TIMEOUT_MS)

    harness = AgentHarness(two)
    harness.event(KEY, b"e", at_ms=1_000)
    harness.result(harness.intents[1], b"2", at_ms=2_000)

    harness.advance_to(100_000)

    (answer,) = harness.errors[0].answers
    assert answer.tool_result.payload == b"2"
    assert (answer.entity_key, answer.event_time_ms) == (KEY, 2_000)


def test_an_expired_intent_answers_for_itself_before_the_deadline() -> None:
    async def short(ctx: ActivationContext) -> Complete | Suspend:
        if ctx.is_resume:
            assert ctx.resume_result is not None
            return Complete(ToolResult.Status.Name(ctx.resume_result.status).encode())
        ctx.act("pay", {}, ttl_ms=5_000)
        return Suspend(b"", timeout_ms=TIMEOUT_MS)

    harness = AgentHarness(short)
    harness.event(KEY, b"e", at_ms=1_000)

    harness.result(harness.intents[0], status=ToolResult.EXPIRED, at_ms=6_000)

    assert harness.outputs == [b"EXPIRED"]


async def patient(ctx: ActivationContext) -> Complete | Suspend:
    if ctx.snapshot == b"again":
        return Complete(b"done")
    if ctx.is_resume and not ctx.timed_out:
        return Complete(b"answered")
    if ctx.is_resume:
        assert ctx.resume_result is None
        if ctx.pending and ctx.snapshot == b"ask again":
            return Suspend(b"again", timeout_ms=TIMEOUT_MS)
        return Complete(f"timed out at {ctx.now_ms}".encode())
    ctx.act("pay", {})
    return Suspend(ctx.event, timeout_ms=TIMEOUT_MS)


RESUME = AgentConfig(on_timeout="resume")


def test_a_timeout_may_be_set_to_resume_the_agent() -> None:
    harness = AgentHarness(patient, RESUME)
    harness.event(KEY, b"e", at_ms=1_000)

    harness.advance_to(100_000)

    assert harness.outputs == [b"timed out at 31000"]
    assert harness.errors == []


def test_an_answer_after_a_resume_by_timeout_is_late() -> None:
    harness = AgentHarness(patient, RESUME)
    harness.event(KEY, b"e", at_ms=1_000)
    harness.advance_to(100_000)

    harness.result(harness.intents[0])

    assert [error.reason for error in harness.errors] == ["late"]


def test_an_agent_resumed_by_timeout_may_wait_for_the_same_answer_again() -> None:
    harness = AgentHarness(patient, RESUME)
    harness.event(KEY, b"ask again", at_ms=1_000)
    harness.advance_to(31_000)

    harness.result(harness.intents[0], at_ms=40_000)

    assert harness.outputs == [b"done"]


def test_an_answer_in_time_does_not_time_out() -> None:
    harness = AgentHarness(patient, RESUME)
    harness.event(KEY, b"e", at_ms=1_000)

    harness.result(harness.intents[0], at_ms=2_000)
    harness.advance_to(100_000)

    assert harness.outputs == [b"answered"]


def test_timers_fire_in_the_order_of_their_time_over_all_keys() -> None:
    harness = AgentHarness(patient, RESUME)
    harness.event(b"b", b"e", at_ms=2_000)
    harness.event(b"a", b"e", at_ms=3_000)

    harness.advance_to(100_000)

    assert harness.outputs == [b"timed out at 32000", b"timed out at 33000"]


def test_a_late_answer_does_not_disturb_the_activation_after_it() -> None:
    harness = suspended()
    harness.advance_to(31_000)
    harness.event(KEY, b"next", at_ms=40_000)

    harness.result(harness.intents[0], b"old", at_ms=45_000)
    harness.result(harness.intents[1], b"new", at_ms=46_000)

    assert [error.reason for error in harness.errors] == ["suspension_timeout", "late"]
    assert harness.outputs == [b"next: OK new"]


def test_a_new_event_after_the_late_answer_begins_the_next_seq() -> None:
    harness = suspended()
    harness.advance_to(31_000)
    harness.result(harness.intents[0], b"old", at_ms=45_000)

    harness.event(KEY, b"next", at_ms=60_000)

    assert harness.intents[1].seq == 1
    assert harness.outputs == []
