"""The harness itself: what a test of an agent cannot overlook."""

from __future__ import annotations

import logging

import pytest

from beam_agents.core.agent import Complete
from beam_agents.core.context import ActivationContext
from beam_agents.core.testing import AgentHarness, UnexpectedError
from tests.unit.core.agents import KEY, TIMEOUT_MS, echo, pay


async def fails(ctx: ActivationContext) -> Complete:
    raise ValueError("no such charge")


def test_errors_are_kept_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    harness = AgentHarness(fails)

    harness.event(KEY, b"e")

    assert [error.reason for error in harness.errors] == ["agent_failed"]
    (logged,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert "ValueError: no such charge" in logged.getMessage()


def test_an_error_may_be_raised_where_it_comes_up() -> None:
    harness = AgentHarness(fails, raise_errors=True)

    with pytest.raises(UnexpectedError, match="agent_failed: ValueError: no such charge") as raised:
        harness.event(KEY, b"e")

    assert harness.errors == [raised.value.record]


def test_a_timeout_is_raised_where_time_passes() -> None:
    harness = AgentHarness(pay, raise_errors=True)
    harness.event(KEY, b"e", at_ms=0)

    with pytest.raises(UnexpectedError, match="suspension_timeout"):
        harness.advance_to(TIMEOUT_MS)


def test_after_a_raised_error_the_harness_goes_on() -> None:
    harness = AgentHarness(pay, raise_errors=True)
    harness.event(KEY, b"e", at_ms=0)
    with pytest.raises(UnexpectedError):
        harness.advance_to(TIMEOUT_MS)

    harness.event(KEY, b"f", at_ms=TIMEOUT_MS)
    harness.result(harness.intents[1])

    assert harness.outputs == [b"f: OK null"]


def test_nothing_is_raised_where_nothing_goes_wrong() -> None:
    harness = AgentHarness(echo, raise_errors=True)

    harness.event(KEY, b"e")

    assert harness.outputs == [b"e"]
