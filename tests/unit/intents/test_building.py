"""`build_intent`: what an agent would stage, without an agent."""

from __future__ import annotations

import pytest

from beam_agents._protos import ToolIntent
from beam_agents.intents import Outcome, Status, build_intent, intent_id_for
from beam_agents.tools import CanonicalJsonError, IntentInfo


def test_an_intent_is_built_as_an_agent_would_stage_it() -> None:
    intent = build_intent(
        "payments.refund", {"amount": 4200}, entity_key=b"acct-1", created_at_ms=1000
    )

    assert intent.intent_id == intent_id_for(b"acct-1", 0, 0)
    assert intent.args_json == '{"amount":4200}'
    assert intent.kind == ToolIntent.TOOL
    assert intent.expires_at_ms == 3_601_000
    assert len(intent.trace_id) == 16


def test_arguments_in_text_become_canonical() -> None:
    assert build_intent("t", '{ "b": 1.0, "a": [] }').args_json == '{"a":[],"b":1}'


def test_arguments_that_are_not_json_are_refused() -> None:
    with pytest.raises(CanonicalJsonError, match=r"\$\.when"):
        build_intent("t", {"when": object()})


def test_a_tool_sees_the_intent_that_it_performs() -> None:
    intent = build_intent("t", {}, entity_key=b"k", seq=2, step_index=1, namespace="shop")

    info = IntentInfo.of(intent, attempt=3)

    assert info == IntentInfo(
        intent_id=intent_id_for(b"k", 2, 1, namespace="shop"),
        entity_key=b"k",
        seq=2,
        step_index=1,
        attempt=3,
        deadline_ms=3_600_000,
        trace_id=intent.trace_id,
        namespace="shop",
    )


def test_the_enums_of_the_wire_have_public_names() -> None:
    assert Status.Name(Status.REJECTED) == "REJECTED"
    assert Outcome.Name(Outcome.NOT_APPLIED) == "NOT_APPLIED"
