"""Outcomes: what a tool may say of its effect, and what nobody can mean."""

from __future__ import annotations

from typing import Any

import pytest

from beam_agents.intents import Outcome
from beam_agents.tools import NotApplied, OutcomeError, Retryable


def test_a_retryable_keeps_what_it_was_told() -> None:
    told = Retryable("busy", retry_after_ms=0, outcome=Outcome.NOT_APPLIED)

    assert (told.message, told.retry_after_ms, told.outcome) == ("busy", 0, Outcome.NOT_APPLIED)
    assert Retryable().outcome == Outcome.UNKNOWN


@pytest.mark.parametrize("wait", [-1, 0.5, "1", True])
def test_a_wait_is_milliseconds_from_0_on(wait: Any) -> None:
    with pytest.raises(OutcomeError, match="must be milliseconds from 0 on, or None"):
        Retryable(retry_after_ms=wait)


@pytest.mark.parametrize("outcome", [99, -1, None, "UNKNOWN", True])
def test_an_outcome_is_one_of_the_wires(outcome: Any) -> None:
    with pytest.raises(OutcomeError, match=r"must be one of Outcome\.OUTCOME_UNSPECIFIED, Outcome"):
        Retryable(outcome=outcome)


def test_not_applied_keeps_its_detail() -> None:
    told = NotApplied("declined", detail={"code": 51})

    assert (str(told), told.message, told.detail) == ("declined", "declined", {"code": 51})
