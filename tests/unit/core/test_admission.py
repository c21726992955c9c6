"""Which answers resume which suspension, and what becomes of the others."""

from __future__ import annotations

import pytest

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents.core.agent import Complete, Suspend, intent_id_for
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.metrics import Metric
from beam_agents.core.testing import AgentHarness
from tests.unit.core.agents import KEY, TIMEOUT_MS, in_turn, pay


def suspended(config: AgentConfig | None = None) -> AgentHarness:
    harness = AgentHarness(pay, config)
    harness.event(KEY, b"e", at_ms=1_000)
    return harness


def answer(intent: ToolIntent, **changes: object) -> AgentEnvelope:
    """A bare answer, as a script or an older effector would send it."""
    result = ToolResult(intent_id=intent.intent_id, status=ToolResult.OK, payload=b"1")
    for name, value in changes.items():
        setattr(result, name, value)
    return AgentEnvelope(entity_key=intent.entity_key, event_time_ms=2_000, tool_result=result)


def test_an_answer_without_key_seq_and_fingerprint_is_admitted() -> None:
    harness = suspended()

    harness.send(answer(harness.intents[0]))

    assert harness.outputs == [b"e: OK 1"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"entity_key": b"acct-2"}, "another key"),
        ({"seq": 5}, "another activation"),
        ({"fingerprint": b"x" * 32}, "another request"),
        ({"fingerprint": b"short"}, "another request"),
        ({"intent_id": "a5ed04a4-0000-0000-0000-000000000000"}, "none of this key's"),
    ],
)
def test_an_answer_that_contradicts_its_intent_is_foreign(
    changes: dict[str, object], problem: str
) -> None:
    harness = suspended()

    harness.send(answer(harness.intents[0], **changes))

    (error,) = harness.errors
    assert error.reason == "foreign"
    assert problem in error.detail
    assert harness.outputs == []


def test_a_foreign_answer_leaves_the_suspension_to_its_own() -> None:
    harness = suspended()

    harness.send(answer(harness.intents[0], fingerprint=b"x" * 32))
    harness.result(harness.intents[0], b"2")

    assert harness.outputs == [b"e: OK 2"]


def test_an_approval_of_a_tool_intent_is_foreign() -> None:
    harness = suspended()

    harness.approve(harness.intents[0])

    assert [error.reason for error in harness.errors] == ["foreign"]
    assert harness.outputs == []


def test_an_answer_resumes_only_once() -> None:
    harness = suspended()

    for _ in range(3):
        harness.result(harness.intents[0], b"1", at_ms=2_000)

    assert harness.outputs == [b"e: OK 1"]
    assert harness.errors == []
    assert harness.metrics[Metric.REPEATED_ANSWERS] == 2


def test_a_repeated_failure_is_no_news_after_its_resume() -> None:
    harness = suspended()

    for _ in range(2):
        harness.result(harness.intents[0], status=ToolResult.ERROR, at_ms=2_000)

    assert harness.errors == []


def test_an_answer_at_the_deadline_is_late() -> None:
    harness = suspended()

    harness.result(harness.intents[0], at_ms=1_000 + TIMEOUT_MS)

    assert [error.reason for error in harness.errors] == ["late"]
    assert harness.outputs == []


def test_an_answer_just_before_the_deadline_is_admitted() -> None:
    harness = suspended()

    harness.result(harness.intents[0], at_ms=999 + TIMEOUT_MS)

    assert harness.outputs == [b"e: OK null"]


@pytest.mark.parametrize("status", [ToolResult.OK, ToolResult.ERROR])
def test_an_answer_after_the_timeout_is_late_whatever_it_says(status: ToolResult.Status) -> None:
    harness = suspended()
    harness.advance_to(40_000)

    harness.result(harness.intents[0], status=status, at_ms=45_000)
    harness.event(KEY, b"f", at_ms=60_000)

    assert [error.reason for error in harness.errors] == ["suspension_timeout", "late"]
    assert harness.state(KEY).continuation.seq == 1
    assert harness.outputs == []


def test_an_expiry_after_the_timeout_was_already_said() -> None:
    harness = suspended()
    harness.advance_to(40_000)

    harness.result(
        harness.intents[0], status=ToolResult.EXPIRED, outcome=ToolResult.NOT_APPLIED, at_ms=45_000
    )

    assert [error.reason for error in harness.errors] == ["suspension_timeout"]
    assert harness.metrics[Metric.EXPIRED_AFTER_TIMEOUT] == 1


def test_an_expiry_of_unknown_outcome_after_the_timeout_is_late() -> None:
    harness = suspended()
    harness.advance_to(40_000)

    harness.result(harness.intents[0], status=ToolResult.EXPIRED, at_ms=45_000)

    assert [error.reason for error in harness.errors] == ["suspension_timeout", "late"]


async def fire(ctx: ActivationContext) -> Complete:
    ctx.act("mail", {})
    return Complete(b"sent")


def test_an_ok_of_a_fired_intent_is_counted() -> None:
    harness = AgentHarness(fire)
    harness.event(KEY, b"e")

    harness.result(harness.intents[0])

    assert harness.errors == []
    assert harness.metrics[Metric.UNAWAITED_ANSWERS] == 1


@pytest.mark.parametrize("status", [ToolResult.ERROR, ToolResult.EXPIRED, ToolResult.REJECTED])
def test_a_failure_of_a_fired_intent_is_an_error(status: ToolResult.Status) -> None:
    harness = AgentHarness(fire)
    harness.event(KEY, b"e")

    harness.result(harness.intents[0], status=status)

    (error,) = harness.errors
    assert error.reason == "unawaited_failure"
    assert error.intent_id == harness.intents[0].intent_id


def test_an_ok_of_a_fired_intent_does_not_disturb_a_later_suspension() -> None:
    harness = AgentHarness(in_turn(lambda ctx: _fire(ctx), lambda ctx: _wait(ctx), _done))
    harness.event(KEY, b"e")
    harness.event(KEY, b"f")

    harness.result(harness.intents[0])
    assert harness.outputs == [b"fired"]
    harness.result(harness.intents[1])

    assert harness.outputs == [b"fired", b"done"]


def _fire(ctx: ActivationContext) -> Complete:
    ctx.act("mail", {})
    return Complete(b"fired")


def _wait(ctx: ActivationContext) -> Suspend:
    ctx.act("pay", {})
    return Suspend(b"", timeout_ms=TIMEOUT_MS)


def _done(ctx: ActivationContext) -> Complete:
    return Complete(b"done")


def test_another_answer_to_an_answered_intent_is_late() -> None:
    harness = AgentHarness(in_turn(_wait_for_two))
    harness.event(KEY, b"e", at_ms=1_000)
    harness.result(harness.intents[0], b"1")

    harness.result(harness.intents[0], b"2")

    assert [error.reason for error in harness.errors] == ["late"]


def _wait_for_two(ctx: ActivationContext) -> Suspend:
    ctx.act("pay", {})
    return _wait(ctx)


def test_the_answer_of_another_namespace_is_dropped() -> None:
    harness = suspended(AgentConfig(namespace="ours"))

    other = ToolIntent(
        intent_id=intent_id_for(KEY, 0, 0, namespace="theirs"), entity_key=KEY, namespace="theirs"
    )
    harness.result(other)

    assert harness.errors == []
    assert harness.metrics[Metric.OTHER_NAMESPACE] == 1


def test_an_answer_without_namespace_is_ours_if_its_id_is() -> None:
    harness = suspended(AgentConfig(namespace="ours"))

    harness.send(answer(harness.intents[0]))

    assert harness.outputs == [b"e: OK 1"]


def test_an_answer_without_namespace_is_another_agents_if_its_id_is_not_ours() -> None:
    harness = suspended(AgentConfig(namespace="ours"))

    harness.result(ToolIntent(intent_id=intent_id_for(KEY, 0, 0), entity_key=KEY))

    assert harness.errors == []
    assert harness.metrics[Metric.OTHER_NAMESPACE] == 1


def test_an_envelope_without_payload_is_malformed() -> None:
    harness = AgentHarness(pay)

    harness.send(AgentEnvelope(entity_key=KEY))

    assert [error.reason for error in harness.errors] == ["malformed"]


def test_an_envelope_of_another_key_than_its_elements_is_malformed() -> None:
    harness = AgentHarness(pay)

    harness.send(AgentEnvelope(entity_key=b"other", external_event=b"e"), key=KEY)

    assert [error.reason for error in harness.errors] == ["malformed"]
    assert harness.intents == []


def test_an_answer_to_what_can_be_no_intent_is_malformed() -> None:
    harness = AgentHarness(pay)
    approval = AgentEnvelope.Approval(intent_id="i" * 257, approved=True)

    harness.send(AgentEnvelope(entity_key=KEY, approval=approval))

    assert [error.reason for error in harness.errors] == ["malformed"]


def test_a_time_that_nothing_could_count_from_is_malformed() -> None:
    harness = AgentHarness(pay)

    harness.send(AgentEnvelope(entity_key=KEY, external_event=b"e", event_time_ms=2**62))

    assert [error.reason for error in harness.errors] == ["malformed"]


def test_an_export_request_is_unsupported() -> None:
    harness = AgentHarness(pay)
    envelope = AgentEnvelope(entity_key=KEY)
    envelope.export_request.request_id = "r"

    harness.send(envelope)

    assert [error.reason for error in harness.errors] == ["unsupported"]


def test_refused_envelopes_leave_no_state_behind() -> None:
    harness = AgentHarness(pay)

    harness.send(AgentEnvelope(entity_key=KEY))
    harness.send(answer(ToolIntent(intent_id="x", entity_key=KEY)))

    assert harness.cell(KEY) == b""
