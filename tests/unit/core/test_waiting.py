"""What a suspension waits for: all, any, or some of an activation's intents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest

from beam_agents._protos import ToolResult
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.context import ActivationContext
from beam_agents.core.metrics import Metric
from beam_agents.core.testing import AgentHarness
from tests.unit.core.agents import KEY, in_turn


def staging(
    count: int, wait_for: Literal["all", "any"] = "all"
) -> Callable[[ActivationContext], Suspend]:
    def run(ctx: ActivationContext) -> Suspend:
        for index in range(count):
            ctx.act("pay", {"index": index})
        return Suspend(b"s", timeout_ms=30_000, wait_for=wait_for)

    return run


def report(ctx: ActivationContext) -> Complete:
    lines = [f"{len(ctx.results)} answers", f"{len(ctx.pending)} pending"]
    return Complete(", ".join(lines).encode())


def test_all_waits_for_every_answer_in_any_order() -> None:
    harness = AgentHarness(in_turn(staging(3), report))
    harness.event(KEY, b"e")

    harness.result(harness.intents[2])
    harness.result(harness.intents[0])
    assert harness.outputs == []
    harness.result(harness.intents[1])

    assert harness.outputs == [b"3 answers, 0 pending"]


def test_a_repeated_answer_does_not_count_twice() -> None:
    harness = AgentHarness(in_turn(staging(2), report))
    harness.event(KEY, b"e")

    harness.result(harness.intents[0])
    harness.result(harness.intents[0])

    assert harness.outputs == []
    assert harness.metrics[Metric.REPEATED_ANSWERS] == 1


def test_every_status_resumes() -> None:
    harness = AgentHarness(in_turn(staging(2), report))
    harness.event(KEY, b"e")

    harness.result(harness.intents[0], status=ToolResult.EXPIRED)
    harness.result(harness.intents[1], status=ToolResult.ERROR)

    assert harness.outputs == [b"2 answers, 0 pending"]


def test_any_resumes_at_the_first_answer() -> None:
    harness = AgentHarness(in_turn(staging(2, "any"), report))
    harness.event(KEY, b"e")

    harness.result(harness.intents[1])

    assert harness.outputs == [b"1 answers, 1 pending"]


def test_the_rest_of_any_is_awaited_by_default_when_the_agent_suspends_again() -> None:
    harness = AgentHarness(in_turn(staging(2, "any"), staging(0), report))
    harness.event(KEY, b"e")

    harness.result(harness.intents[0])
    assert harness.outputs == []
    harness.result(harness.intents[1])

    assert harness.outputs == [b"1 answers, 0 pending"]


def test_the_rest_of_any_is_left_over_when_the_agent_completes() -> None:
    harness = AgentHarness(in_turn(staging(2, "any"), report))
    harness.event(KEY, b"e")

    harness.result(harness.intents[0])
    harness.result(harness.intents[1])

    assert len(harness.outputs) == 1
    assert harness.errors == []
    assert harness.metrics[Metric.UNAWAITED_ANSWERS] == 1


def await_first(ctx: ActivationContext) -> Suspend:
    first = ctx.act("pay", {"index": 0})
    ctx.act("audit", {"index": 1})
    return Suspend(b"s", timeout_ms=30_000, await_ids=[first])


def test_await_ids_waits_for_those_alone() -> None:
    harness = AgentHarness(in_turn(await_first, report))
    harness.event(KEY, b"e")

    harness.result(harness.intents[1])
    assert harness.outputs == []
    harness.result(harness.intents[0])

    assert harness.outputs == [b"1 answers, 0 pending"]


def test_an_intent_left_out_by_await_ids_is_awaited_by_a_later_default() -> None:
    harness = AgentHarness(in_turn(await_first, staging(0), report))
    harness.event(KEY, b"e")
    harness.result(harness.intents[0])

    harness.result(harness.intents[1])

    assert harness.outputs == [b"1 answers, 0 pending"]


def _nothing_awaited(ctx: ActivationContext) -> Suspend:
    return Suspend(b"s", timeout_ms=1_000)


def _unknown_id(ctx: ActivationContext) -> Suspend:
    ctx.act("pay", {})
    return Suspend(b"s", timeout_ms=1_000, await_ids=["nobody"])


def _no_ids(ctx: ActivationContext) -> Suspend:
    ctx.act("pay", {})
    return Suspend(b"s", timeout_ms=1_000, await_ids=[])


def _no_timeout(ctx: ActivationContext) -> Suspend:
    ctx.act("pay", {})
    return Suspend(b"s")


def _text_snapshot(ctx: ActivationContext) -> Suspend:
    ctx.act("pay", {})
    return Suspend("s", timeout_ms=1_000)  # type: ignore[arg-type]


def _wrong_mode(ctx: ActivationContext) -> Suspend:
    ctx.act("pay", {})
    return Suspend(b"s", timeout_ms=1_000, wait_for="some")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("run", "fix"),
    [
        (_nothing_awaited, "stage an intent first"),
        (_unknown_id, "'nobody'"),
        (_no_ids, "nothing to wait for"),
        (_no_timeout, "timeout_ms"),
        (_text_snapshot, "must be bytes"),
        (_wrong_mode, "'all' or 'any'"),
    ],
)
def test_a_suspension_that_could_not_end_is_an_error_at_once(
    run: Callable[[ActivationContext], Suspend], fix: str
) -> None:
    harness = AgentHarness(in_turn(run))

    harness.event(KEY, b"e")

    (error,) = harness.errors
    assert error.reason == "invalid_return"
    assert fix in error.detail
    assert harness.intents == []
    assert not harness.state(KEY).HasField("continuation")


def test_results_are_those_of_the_last_wait() -> None:
    harness = AgentHarness(in_turn(staging(1), staging(1), report))
    harness.event(KEY, b"e")

    harness.result(harness.intents[0])
    harness.result(harness.intents[1])

    assert harness.outputs == [b"1 answers, 0 pending"]


def test_one_expired_among_several_answers_like_the_others() -> None:
    harness = AgentHarness(in_turn(staging(3), report))
    harness.event(KEY, b"e")

    harness.result(harness.intents[1], status=ToolResult.EXPIRED, outcome=ToolResult.NOT_APPLIED)
    harness.result(harness.intents[0])
    assert harness.outputs == []
    harness.result(harness.intents[2])

    assert harness.outputs == [b"3 answers, 0 pending"]
    assert harness.errors == []
