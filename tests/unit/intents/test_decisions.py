"""`build_decision`: what a person's answer holds, whatever surface it came through."""

from __future__ import annotations

import base64

import pytest

from beam_agents._protos import ToolIntent
from beam_agents.intents import (
    DecisionError,
    Keyring,
    Signer,
    build_decision,
    build_intent,
    verify,
)
from beam_agents.intents.fingerprint import grant_digest
from beam_agents.intents.signing import Verified


def request(**changes: object) -> ToolIntent:
    intent = build_intent(
        "payments.refund",
        {"amount": 4200},
        entity_key=b"acct-1",
        namespace="shop",
        kind=ToolIntent.APPROVAL,
        created_at_ms=1_000,
        expires_at_ms=61_000,
    )
    for name, value in changes.items():
        setattr(intent, name, value)
    return intent


def test_a_decision_goes_to_the_agent_that_asked() -> None:
    envelope = build_decision(request(), approved=True, approver="ann", decided_at_ms=5_000)

    assert envelope.entity_key == b"acct-1"
    assert envelope.event_time_ms == 5_000
    assert envelope.approval.intent_id == request().intent_id
    assert envelope.approval.namespace == "shop"


def test_a_decision_allows_exactly_the_arguments_of_its_request() -> None:
    decided = build_decision(request(), approved=True, approver="ann", decided_at_ms=5_000)

    assert decided.approval.args_digest == grant_digest(
        namespace="shop",
        entity_key=b"acct-1",
        tool_name="payments.refund",
        args_json='{"amount":4200}',
    )


def test_a_grant_lasts_for_as_long_as_its_request_was_open() -> None:
    decided = build_decision(request(), approved=True, approver="ann", decided_at_ms=5_000)

    assert decided.approval.expires_at_ms == 65_000


def test_a_denial_carries_its_reason() -> None:
    denied = build_decision(
        request(), approved=False, approver="ann", decided_at_ms=5_000, reason="too much"
    ).approval

    assert (denied.approved, denied.reason, denied.approver) == (False, "too much", "ann")


def test_a_signed_decision_verifies() -> None:
    keys = Keyring.parse(f"ann={base64.b64encode(bytes(range(32))).decode()}")

    decided = build_decision(
        request(), approved=True, approver="ann", decided_at_ms=5_000, signer=Signer(keys, "ann")
    )

    assert verify(decided.approval, keys) == Verified("ann")


def test_a_request_that_expired_is_not_decided() -> None:
    with pytest.raises(DecisionError, match="expired at 61000"):
        build_decision(request(), approved=True, approver="ann", decided_at_ms=61_000)


@pytest.mark.parametrize("kind", [ToolIntent.TOOL, ToolIntent.KIND_UNSPECIFIED])
def test_an_intent_that_asks_nobody_is_not_decided(kind: ToolIntent.Kind) -> None:
    with pytest.raises(DecisionError, match="asks nobody"):
        build_decision(request(kind=kind), approved=True, approver="ann", decided_at_ms=5_000)
