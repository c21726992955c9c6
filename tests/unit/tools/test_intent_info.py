"""`IntentInfo`: what a tool sees of its intent."""

from __future__ import annotations

from typing import Any

import pytest

from beam_agents.intents import build_intent
from beam_agents.tools import IntentInfo, IntentInfoError


def test_an_intent_becomes_what_its_tool_sees() -> None:
    intent = build_intent("refund", {}, entity_key=b"acct-1", seq=2, step_index=1, namespace="shop")

    seen = IntentInfo.of(intent, attempt=3)

    assert (seen.intent_id, seen.entity_key) == (intent.intent_id, b"acct-1")
    assert (seen.seq, seen.step_index, seen.attempt, seen.namespace) == (2, 1, 3, "shop")
    assert seen.deadline_ms == intent.expires_at_ms


@pytest.mark.parametrize("attempt", [0, -1, 1.5, True, None])
def test_attempts_are_counted_from_1(attempt: Any) -> None:
    with pytest.raises(IntentInfoError, match="must be an integer from 1 on"):
        IntentInfo.of(build_intent("refund", {}), attempt=attempt)


def test_a_key_is_bytes() -> None:
    key: Any = "acct-1"

    with pytest.raises(IntentInfoError, match="entity_key='acct-1' must be bytes"):
        IntentInfo(intent_id="i", entity_key=key, seq=0, step_index=0, attempt=1)
