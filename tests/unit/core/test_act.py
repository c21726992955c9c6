"""What `ctx.act` stages, and what it refuses where the mistake is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from beam_agents._protos import ToolIntent
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.config import MAX_TTL_MS, AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.testing import AgentHarness
from beam_agents.tools import ToolArgumentsError, ToolRegistry, tool
from tests.unit.core.agents import KEY


@tool(name="payments.refund", side_effect=True)
def refund(amount: int) -> str:
    """Refund an amount."""
    return "done"


@tool
def balance() -> int:
    """Look."""
    return 7


@tool(side_effect=True, requires_approval=lambda amount: amount > 100)
def pay_out(amount: int) -> None:
    """Pay."""


TOOLS = AgentConfig(tools=ToolRegistry(refund, balance, pay_out))


def run(
    act: Callable[[ActivationContext], object], config: AgentConfig | None = None
) -> AgentHarness:
    """Run an agent that acts and completes, and let its failure be the test's."""

    async def agent(ctx: ActivationContext) -> Complete:
        act(ctx)
        return Complete()

    harness = AgentHarness(agent, config)
    harness.event(KEY, b"e", at_ms=1_000)
    return harness


def staged(
    act: Callable[[ActivationContext], object], config: AgentConfig | None = None
) -> ToolIntent:
    (intent,) = run(act, config).intents
    return intent


def refusal(act: Callable[[ActivationContext], object], config: AgentConfig | None = None) -> str:
    harness = run(act, config)
    assert harness.intents == []
    return harness.errors[0].detail


@pytest.mark.parametrize("args", ['{"b": 1,  "a": [1.0]}', {"b": 1, "a": [1]}])
def test_arguments_are_stored_canonical(args: str | Mapping[str, object]) -> None:
    assert staged(lambda ctx: ctx.act("t", args)).args_json == '{"a":[1],"b":1}'


def test_a_tool_may_be_given_itself() -> None:
    intent = staged(lambda ctx: ctx.act(refund, {"amount": 1}))

    assert intent.tool_name == "payments.refund"
    assert intent.schema_digest == refund.schema_digest


def test_an_intent_carries_its_activation() -> None:
    intent = staged(lambda ctx: ctx.act("t", {}), AgentConfig(namespace="n"))

    assert (intent.entity_key, intent.seq, intent.step_index) == (KEY, 0, 0)
    assert intent.kind == ToolIntent.TOOL
    assert intent.namespace == "n"
    assert (len(intent.trace_id), len(intent.origin_digest)) == (16, 16)


@pytest.mark.parametrize(("in_order", "may_overlap"), [(True, False), (False, True)])
def test_effects_keep_their_order_unless_told_otherwise(in_order: bool, may_overlap: bool) -> None:
    intent = staged(lambda ctx: ctx.act("t", {}, in_order=in_order))

    assert intent.may_overlap is may_overlap


def test_a_ttl_counts_from_the_activations_now() -> None:
    intent = staged(lambda ctx: ctx.act("t", {}, ttl_ms=5_000))

    assert (intent.created_at_ms, intent.expires_at_ms) == (1_000, 6_000)


def test_an_intent_of_a_completed_activation_has_the_configured_ttl() -> None:
    intent = staged(lambda ctx: ctx.act("t", {}), AgentConfig(intent_ttl_ms=9_000))

    assert intent.expires_at_ms == 10_000


def test_an_intent_of_a_suspension_expires_with_it() -> None:
    async def agent(ctx: ActivationContext) -> Suspend:
        ctx.act("t", {})
        ctx.act("t", {}, ttl_ms=5)
        return Suspend(b"", timeout_ms=30_000)

    harness = AgentHarness(agent)
    harness.event(KEY, b"e", at_ms=1_000)

    assert [intent.expires_at_ms for intent in harness.intents] == [31_000, 1_005]


@pytest.mark.parametrize("ttl_ms", [0, -1, 30 * 86_400_000 + 1, 1.5, True])
def test_a_ttl_out_of_range_is_refused(ttl_ms: int) -> None:
    assert "ttl_ms must be" in refusal(lambda ctx: ctx.act("t", {}, ttl_ms=ttl_ms))


def test_thirty_days_are_in_range() -> None:
    assert staged(lambda ctx: ctx.act("t", {}, ttl_ms=30 * 86_400_000))


@pytest.mark.parametrize("args", ["[1]", "{", '{"a": NaN}', '{"a": 1, "a": 2}', {"a": {1, 2}}])
def test_arguments_that_are_no_json_object_are_refused(args: str) -> None:
    assert "ToolArgumentsError" in refusal(lambda ctx: ctx.act("t", args))


@pytest.mark.parametrize(
    ("name", "args", "problem"),
    [
        ("payments.refnd", {"amount": 1}, "did you mean 'payments.refund'"),
        ("payments.refund", {"amount": "1"}, "$.amount"),
        ("balance", {}, "ctx.call_tool"),
        ("pay_out", {"amount": 101}, "ctx.request_approval"),
    ],
)
def test_a_known_tool_is_checked_where_the_mistake_is(
    name: str, args: Mapping[str, object], problem: str
) -> None:
    detail = refusal(lambda ctx: ctx.act(name, args), TOOLS)

    assert "ToolArgumentsError" in detail
    assert problem in detail


def test_a_tool_that_needs_no_approval_of_these_arguments_is_staged() -> None:
    assert staged(lambda ctx: ctx.act("pay_out", {"amount": 100}), TOOLS)


def test_a_refused_request_consumes_no_step() -> None:
    def act(ctx: ActivationContext) -> None:
        with pytest.raises(ToolArgumentsError):
            ctx.act("payments.refund", {})
        ctx.act("payments.refund", {"amount": 1})

    assert staged(act, TOOLS).step_index == 0


def test_a_tool_given_itself_is_checked_without_a_registry() -> None:
    assert "$.amount" in refusal(lambda ctx: ctx.act(refund, {"amount": "1"}))


def test_intents_leave_in_step_order() -> None:
    harness = run(lambda ctx: [ctx.act("t", {"index": index}) for index in range(3)])

    assert [intent.step_index for intent in harness.intents] == [0, 1, 2]


def test_an_intent_of_a_long_suspension_expires_after_thirty_days() -> None:
    async def patient(ctx: ActivationContext) -> Suspend:
        ctx.act("t", {})
        return Suspend(b"", timeout_ms=2 * MAX_TTL_MS)

    harness = AgentHarness(patient)
    harness.event(KEY, b"e", at_ms=1_000)

    assert harness.intents[0].expires_at_ms == 1_000 + MAX_TTL_MS
    assert harness.state(KEY).continuation.deadline_ms == 1_000 + 2 * MAX_TTL_MS
