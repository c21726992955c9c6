"""Answers that come before the suspension that awaits them: kept, bounded, matched."""

from __future__ import annotations

import pytest

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.metrics import Metric
from beam_agents.core.testing import AgentHarness
from tests.unit.core.agents import KEY, pay


async def ask(ctx: ActivationContext) -> Complete | Suspend:
    if not ctx.is_resume:
        ctx.request_approval("pay", {})
        return Suspend(b"", timeout_ms=30_000)
    return Complete(b"approved" if ctx.resume_approval else b"not")


async def fire(ctx: ActivationContext) -> Complete:
    ctx.act("mail", {})
    return Complete(b"sent")


def intent_of(agent: object) -> ToolIntent:
    """The intent that the agent will stage: another harness runs ahead."""
    harness = AgentHarness(agent)  # type: ignore[arg-type]
    harness.event(KEY, b"e", at_ms=1_000)
    return harness.intents[0]


@pytest.mark.parametrize("agent", [pay])
def test_a_result_that_came_first_resumes_its_suspension_at_once(agent: object) -> None:
    harness = AgentHarness(pay)

    harness.result(intent_of(pay), b"1", at_ms=500)
    harness.event(KEY, b"e", at_ms=1_000)

    assert harness.outputs == [b"e: OK 1"]
    assert harness.metrics[Metric.PARKED_ANSWERS] == 1


def test_an_approval_that_came_first_resumes_its_suspension_at_once() -> None:
    harness = AgentHarness(ask)

    harness.approve(intent_of(ask), at_ms=500)
    harness.event(KEY, b"e", at_ms=1_000)

    assert harness.outputs == [b"approved"]


def test_a_resume_by_an_early_answer_has_the_time_of_what_released_it() -> None:
    async def clock(ctx: ActivationContext) -> Complete | Suspend:
        if ctx.is_resume:
            return Complete(str(ctx.now_ms).encode())
        return await pay(ctx)

    harness = AgentHarness(clock)

    harness.result(intent_of(pay), at_ms=500)
    harness.event(KEY, b"e", at_ms=1_000)

    assert harness.outputs == [b"1000"]


def test_an_early_answer_of_another_request_is_foreign_once_its_suspension_is_there() -> None:
    early = intent_of(pay)
    early.args_json = '{"event":"another"}'
    harness = AgentHarness(pay)

    harness.result(early, at_ms=500)
    harness.event(KEY, b"e", at_ms=1_000)

    assert [error.reason for error in harness.errors] == ["foreign"]
    assert harness.outputs == []


def test_an_early_answer_that_nobody_turns_out_to_await_is_counted() -> None:
    harness = AgentHarness(fire)

    harness.result(intent_of(fire), at_ms=500)
    harness.event(KEY, b"e", at_ms=1_000)

    assert harness.errors == []
    assert harness.metrics[Metric.UNAWAITED_ANSWERS] == 1
    assert not harness.state(KEY).parked


def test_an_early_failure_that_nobody_turns_out_to_await_is_an_error() -> None:
    harness = AgentHarness(fire)

    harness.result(intent_of(fire), status=ToolResult.ERROR, at_ms=500)
    harness.event(KEY, b"e", at_ms=1_000)

    assert [error.reason for error in harness.errors] == ["unawaited_failure"]


def test_a_repeat_of_an_early_answer_is_kept_once() -> None:
    harness = AgentHarness(pay)

    for _ in range(2):
        harness.result(intent_of(pay), at_ms=500)

    assert len(harness.state(KEY).parked) == 1
    assert harness.metrics[Metric.REPEATED_ANSWERS] == 1


def test_early_answers_are_bounded_in_number() -> None:
    harness = AgentHarness(pay, AgentConfig(max_parked_answers=1))

    harness.result(intent_of(pay), b"1", at_ms=500)
    harness.result(intent_of(pay), b"2", at_ms=500)

    assert len(harness.state(KEY).parked) == 1
    assert [error.reason for error in harness.errors] == ["foreign"]


def test_early_answers_are_bounded_in_time() -> None:
    harness = AgentHarness(pay, AgentConfig(parked_ms=1_000))
    harness.result(intent_of(pay), at_ms=500)

    harness.advance_to(1_499)
    assert harness.errors == []
    harness.advance_to(1_500)

    assert [error.reason for error in harness.errors] == ["foreign"]
    assert not harness.state(KEY).parked


def test_a_result_of_a_future_seq_waits_for_its_turn() -> None:
    ahead = AgentHarness(pay)
    ahead.event(KEY, b"e", at_ms=1_000)
    ahead.result(ahead.intents[0])
    ahead.event(KEY, b"f", at_ms=2_000)
    harness = AgentHarness(pay)

    harness.result(ahead.intents[1], b"2", at_ms=500)
    harness.result(ahead.intents[0], b"1", at_ms=500)
    harness.event(KEY, b"e", at_ms=1_000)
    harness.event(KEY, b"f", at_ms=2_000)

    assert harness.outputs == [b"e: OK 1", b"f: OK 2"]


def test_an_envelope_of_an_early_answer_is_kept_whole() -> None:
    harness = AgentHarness(pay, AgentConfig(parked_ms=1))
    envelope = AgentEnvelope(entity_key=KEY, event_time_ms=5, received_at_ms=9)
    envelope.tool_result.CopyFrom(ToolResult(intent_id=intent_of(pay).intent_id))

    harness.send(envelope)
    harness.advance_to(100)

    assert harness.errors[0].envelope == envelope


async def two_rounds(ctx: ActivationContext) -> Complete | Suspend:
    if ctx.snapshot == b"second":
        return Complete(b"done")
    ctx.act("pay", {})
    return Suspend(b"second" if ctx.is_resume else b"first", timeout_ms=30_000)


def test_a_result_of_a_step_not_yet_staged_waits_for_it() -> None:
    ahead = AgentHarness(two_rounds)
    ahead.event(KEY, b"e", at_ms=1_000)
    ahead.result(ahead.intents[0])
    harness = AgentHarness(two_rounds)
    harness.event(KEY, b"e", at_ms=1_000)

    harness.result(ahead.intents[1])
    assert harness.outputs == []
    harness.result(ahead.intents[0])

    assert harness.outputs == [b"done"]
