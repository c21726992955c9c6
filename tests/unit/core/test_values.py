"""`ctx.value`: what an effect returned, or why there is nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal

import pytest

from beam_agents._protos import ToolResult
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.testing import AgentHarness
from beam_agents.intents.outcome import EffectError
from beam_agents.tools import encode_result
from tests.unit.core.agents import KEY


async def value_of_one(ctx: ActivationContext) -> Complete | Suspend:
    if not ctx.is_resume:
        ctx.act("pay", {})
        return Suspend(b"", timeout_ms=30_000)
    try:
        return Complete(repr(ctx.value()).encode())
    except EffectError as error:
        return Complete(str(error).encode())


def test_an_ok_payload_is_decoded() -> None:
    harness = AgentHarness(value_of_one)
    harness.event(KEY, b"e")

    harness.result(harness.intents[0], b'{"id":[1,null]}')

    assert harness.outputs == [b"{'id': [1, None]}"]


@dataclass(frozen=True)
class Receipt:
    number: str
    paid: Decimal
    at: datetime


RECEIPT = Receipt("re_1", Decimal("42.10"), datetime(2026, 12, 1, 4, 30, tzinfo=timezone.utc))


async def typed_value(ctx: ActivationContext) -> Complete | Suspend:
    if not ctx.is_resume:
        ctx.act("pay", {})
        return Suspend(b"", timeout_ms=30_000)
    return Complete(b"%d" % (ctx.value(as_type=Receipt) == RECEIPT))


def test_a_value_may_be_had_as_the_type_that_the_tool_returned() -> None:
    harness = AgentHarness(typed_value)
    harness.event(KEY, b"e")

    harness.result(harness.intents[0], encode_result(RECEIPT))

    assert harness.outputs == [b"1"]


def test_a_value_of_another_type_says_where() -> None:
    harness = AgentHarness(typed_value)
    harness.event(KEY, b"e")

    harness.result(harness.intents[0], b'{"number":7,"paid":"42.10"}')

    (error,) = harness.errors
    assert "is not of type Receipt: number: Input should be a valid string; at: " in error.detail


def test_any_other_status_raises_with_its_outcome() -> None:
    harness = AgentHarness(value_of_one)
    harness.event(KEY, b"e")

    harness.result(
        harness.intents[0],
        status=ToolResult.ERROR,
        outcome=ToolResult.NOT_APPLIED,
        error_message="card declined",
    )

    assert harness.outputs == [b"ERROR, outcome NOT_APPLIED: card declined"]


def test_an_outcome_that_is_not_said_is_unknown() -> None:
    harness = AgentHarness(value_of_one)
    harness.event(KEY, b"e")

    harness.result(harness.intents[0], status=ToolResult.ERROR)

    assert harness.outputs == [b"ERROR, outcome UNKNOWN: "]


def test_an_effect_without_an_answer_has_no_value() -> None:
    harness = AgentHarness(value_of_one, AgentConfig(on_timeout="resume"))
    harness.event(KEY, b"e")

    harness.advance_to(30_000)

    assert b"STATUS_UNSPECIFIED, outcome UNKNOWN" in harness.outputs[0]


async def values_of_two(ctx: ActivationContext) -> Complete | Suspend:
    if not ctx.is_resume:
        first = ctx.act("pay", {})
        ctx.act("pay", {})
        return Suspend(first.encode(), timeout_ms=30_000)
    return Complete(f"{ctx.value(ctx.snapshot.decode())} {ctx.value()}".encode())


def test_a_value_is_that_of_the_intent_named_or_else_of_the_last_answer() -> None:
    harness = AgentHarness(values_of_two)
    harness.event(KEY, b"e")

    harness.result(harness.intents[0], b"1")
    harness.result(harness.intents[1], b"2")

    assert harness.outputs == [b"1 2"]


async def asks_too_early(ctx: ActivationContext) -> Complete:
    ctx.value()
    return Complete()


def test_a_fresh_run_has_no_values() -> None:
    harness = AgentHarness(asks_too_early)

    harness.event(KEY, b"e")

    assert "ContextError" in harness.errors[0].detail


@pytest.mark.parametrize("attribute", ["results", "approvals", "pending"])
def test_a_fresh_run_has_no_answers(attribute: str) -> None:
    async def agent(ctx: ActivationContext) -> Complete:
        return Complete(str(len(getattr(ctx, attribute))).encode())

    harness = AgentHarness(agent)

    harness.event(KEY, b"e")

    assert harness.outputs == [b"0"]
