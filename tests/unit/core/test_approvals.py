"""Approvals and their grants: what a person allowed, exactly and once."""

from __future__ import annotations

import pytest

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.errors import ApprovalDenied, ApprovalNotGiven
from beam_agents.core.metrics import Metric
from beam_agents.core.testing import AgentHarness
from tests.unit.core.agents import KEY


async def cautious(ctx: ActivationContext) -> Complete | Suspend:
    """Asks, then pays; says why where it may not."""
    if not ctx.is_resume:
        ctx.request_approval("pay", {"amount": 500}, summary="a large one")
        return Suspend(b"", timeout_ms=30_000)
    if ctx.resume_result is not None and ctx.resume_result.status == ToolResult.OK:
        return Complete(b"paid")
    try:
        ctx.act("pay", {"amount": 500}, approval=ctx.grant())
    except ApprovalDenied as denied:
        return Complete(f"denied {denied.reason} {denied.approver}".encode())
    except ApprovalNotGiven as not_given:
        return Complete(f"not given {ToolResult.Status.Name(not_given.status)}".encode())
    return Suspend(b"", timeout_ms=30_000)


def asked(config: AgentConfig | None = None) -> AgentHarness:
    harness = AgentHarness(cautious, config)
    harness.event(KEY, b"e", at_ms=1_000)
    return harness


def test_a_request_is_an_intent_of_kind_approval() -> None:
    (request,) = asked().intents

    assert request.kind == ToolIntent.APPROVAL
    assert (request.tool_name, request.args_json) == ("pay", '{"amount":500}')
    assert request.summary == "a large one"


def test_an_approval_goes_into_the_effect_that_it_allows() -> None:
    harness = asked()

    harness.approve(harness.intents[0], approver="ann", at_ms=2_000)
    harness.result(harness.intents[1])

    effect = harness.intents[1]
    assert effect.kind == ToolIntent.TOOL
    assert effect.approval.intent_id == harness.intents[0].intent_id
    assert effect.approval.approver == "ann"
    assert harness.outputs == [b"paid"]


def test_a_denial_says_who_and_why() -> None:
    harness = asked()

    harness.deny(harness.intents[0], reason="too much", approver="ann")

    assert harness.outputs == [b"denied too much ann"]
    assert len(harness.intents) == 1


def test_an_approval_that_is_not_explicit_is_a_denial() -> None:
    harness = asked()
    envelope = AgentEnvelope(entity_key=KEY, event_time_ms=2_000)
    envelope.approval.intent_id = harness.intents[0].intent_id

    harness.send(envelope)

    assert harness.outputs == [b"denied  "]


@pytest.mark.parametrize("status", [ToolResult.EXPIRED, ToolResult.REJECTED])
def test_a_request_that_no_person_saw_resumes_without_a_grant(status: ToolResult.Status) -> None:
    harness = asked()

    harness.result(harness.intents[0], status=status)

    assert harness.outputs == [b"not given " + ToolResult.Status.Name(status).encode()]


def test_a_tools_ok_is_no_answer_to_a_request() -> None:
    harness = asked()

    harness.result(harness.intents[0], status=ToolResult.OK)

    assert [error.reason for error in harness.errors] == ["foreign"]
    assert harness.state(KEY).HasField("continuation")


def test_an_approval_of_other_arguments_is_foreign() -> None:
    harness = asked()
    request = ToolIntent()
    request.CopyFrom(harness.intents[0])
    request.args_json = '{"amount":5000}'

    harness.approve(request)

    assert [error.reason for error in harness.errors] == ["foreign"]
    assert len(harness.intents) == 1


def test_an_approval_that_does_not_say_of_what_gives_no_grant() -> None:
    harness = asked()
    envelope = AgentEnvelope(entity_key=KEY, event_time_ms=2_000)
    envelope.approval.intent_id = harness.intents[0].intent_id
    envelope.approval.approved = True

    harness.send(envelope)

    assert harness.outputs == [b"not given STATUS_UNSPECIFIED"]


def test_approving_twice_acts_once() -> None:
    harness = asked()

    for _ in range(2):
        harness.approve(harness.intents[0], at_ms=2_000)
    harness.result(harness.intents[1])
    harness.approve(harness.intents[0], at_ms=2_000)

    assert len(harness.intents) == 2
    assert harness.outputs == [b"paid"]
    assert harness.errors == []
    assert harness.metrics[Metric.REPEATED_ANSWERS] == 2


async def two_requests(ctx: ActivationContext) -> Complete | Suspend:
    if not ctx.is_resume:
        first = ctx.request_approval("pay", {"to": "ann"})
        ctx.request_approval("pay", {"to": "bob"})
        return Suspend(first.encode(), timeout_ms=30_000)
    approvals = [ctx.grant(ctx.snapshot.decode()).approver, ctx.grant().approver]
    assert set(ctx.approvals) == {each.intent_id for each in ctx.approvals.values()}
    return Complete(" ".join(approvals).encode())


def test_a_grant_is_that_of_the_request_named_or_else_of_the_last() -> None:
    harness = AgentHarness(two_requests)
    harness.event(KEY, b"e")

    harness.approve(harness.intents[0], approver="carl")
    harness.approve(harness.intents[1], approver="dora")

    assert harness.outputs == [b"carl dora"]


async def approval_beside_effect(ctx: ActivationContext) -> Complete | Suspend:
    if not ctx.is_resume:
        ctx.request_approval("pay", {})
        ctx.act("mail", {})
        return Suspend(b"", timeout_ms=30_000)
    assert ctx.resume_approval is None
    return Complete(f"{ctx.grant().approver} {ctx.value()}".encode())


def test_a_grant_is_found_where_another_answer_completed_the_wait() -> None:
    harness = AgentHarness(approval_beside_effect)
    harness.event(KEY, b"e")

    harness.approve(harness.intents[0], approver="ann")
    harness.result(harness.intents[1], b"5")

    assert harness.outputs == [b"ann 5"]


def test_approving_again_after_the_activation_completed_changes_nothing() -> None:
    harness = asked()
    harness.approve(harness.intents[0], at_ms=2_000)
    harness.result(harness.intents[1], at_ms=3_000)

    harness.approve(harness.intents[0], at_ms=2_000)

    assert harness.outputs == [b"paid"]
    assert len(harness.intents) == 2
    assert harness.metrics[Metric.REPEATED_ANSWERS] == 1


def test_a_decision_that_nobody_turns_out_to_await_is_given_up() -> None:
    harness = AgentHarness(cautious, AgentConfig(parked_ms=5_000))
    stranger = AgentHarness(cautious)
    stranger.event(KEY, b"e", at_ms=1_000)
    harness.approve(stranger.intents[0], at_ms=2_000)

    harness.advance_to(7_000)

    assert [error.reason for error in harness.errors] == ["foreign"]
    assert not harness.state(KEY).parked
