"""Agents that fail: nothing staged leaves, and what is needed to do it again is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from beam_agents._protos import ToolResult
from beam_agents.core.agent import Agent, Complete, Suspend
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.testing import AgentHarness
from tests.unit.core.agents import KEY, echo


async def raises(ctx: ActivationContext) -> Complete:
    raise ValueError("no such account")


async def exits(ctx: ActivationContext) -> Complete:
    raise SystemExit(3)


async def cancels(ctx: ActivationContext) -> Complete:
    raise asyncio.CancelledError


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


async def raises_unprintable(ctx: ActivationContext) -> Complete:
    raise Unprintable


def test_a_raise_is_reported_with_type_message_and_traceback() -> None:
    harness = AgentHarness(raises)

    harness.event(KEY, b"e", at_ms=7)

    (error,) = harness.errors
    assert error.reason == "agent_failed"
    assert error.detail.startswith("ValueError: no such account\n")
    assert "in raises" in error.detail
    assert (error.entity_key, error.event_time_ms, error.seq) == (KEY, 7, 0)
    assert error.envelope.external_event == b"e"
    assert list(error.requested_intent_ids) == []


@pytest.mark.parametrize("agent", [exits, cancels, raises_unprintable])
def test_an_agent_cannot_take_its_worker_down(
    agent: Callable[[ActivationContext], Awaitable[Complete]],
) -> None:
    harness = AgentHarness(agent)

    harness.event(KEY, b"e")

    assert [error.reason for error in harness.errors] == ["agent_failed"]


def test_a_detail_is_bounded() -> None:
    async def verbose(ctx: ActivationContext) -> Complete:
        raise ValueError("x" * 100_000)

    harness = AgentHarness(verbose)

    harness.event(KEY, b"e")

    assert len(harness.errors[0].detail) <= 4_000


async def hangs(ctx: ActivationContext) -> Complete:
    await asyncio.Event().wait()
    return Complete()


async def hangs_on(ctx: ActivationContext) -> Complete:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.sleep(0)
    return Complete(b"too late")


@pytest.mark.parametrize("agent", [hangs, hangs_on])
def test_an_activation_that_takes_too_long_has_failed(
    agent: Callable[[ActivationContext], Awaitable[Complete]],
) -> None:
    harness = AgentHarness(agent, AgentConfig(activation_timeout_ms=1))

    harness.event(KEY, b"e")

    (error,) = harness.errors
    assert error.reason == "activation_timeout"
    assert "activation_timeout_ms=1" in error.detail
    assert harness.outputs == []


async def slow_once(ctx: ActivationContext) -> Complete:
    if ctx.event == b"slow":
        await asyncio.Event().wait()
    await asyncio.wait_for(asyncio.sleep(0), timeout=60)
    return Complete(ctx.event)


def test_the_next_activation_runs_after_a_timed_out_one() -> None:
    harness = AgentHarness(slow_once, AgentConfig(activation_timeout_ms=20))

    harness.event(KEY, b"slow")
    harness.event(KEY, b"e")

    assert harness.outputs == [b"e"]


def not_async(ctx: ActivationContext) -> Complete:
    return Complete()


async def returns_none(ctx: ActivationContext) -> None:
    return None


async def returns_text(ctx: ActivationContext) -> Complete:
    return Complete("text")  # type: ignore[arg-type]


async def keeps_text(ctx: ActivationContext) -> Complete:
    return Complete(memory="text")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("agent", "fix"),
    [
        (not_async, "async def"),
        (returns_none, "return Complete or Suspend"),
        (returns_text, "output must be bytes"),
        (keeps_text, "memory must be bytes"),
    ],
)
def test_an_invalid_return_names_the_fix(
    agent: Callable[[ActivationContext], Awaitable[Complete]], fix: str
) -> None:
    harness = AgentHarness(agent)

    harness.event(KEY, b"e")

    (error,) = harness.errors
    assert error.reason == "invalid_return"
    assert fix in error.detail


async def leaves_a_task_behind(ctx: ActivationContext) -> Complete:
    if ctx.event == b"leave":
        TASKS.append(asyncio.ensure_future(_act_later(ctx)))
    else:
        await asyncio.gather(*TASKS, return_exceptions=True)
    return Complete(ctx.event)


async def _act_later(ctx: ActivationContext) -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    ctx.act("pay", {})


TASKS: list[asyncio.Task[None]] = []


def test_an_intent_staged_after_the_return_is_refused_to_its_task() -> None:
    harness = AgentHarness(leaves_a_task_behind)

    harness.event(KEY, b"leave")
    harness.event(KEY, b"look")

    (task,) = TASKS
    assert "await every task" in str(task.exception())
    assert harness.intents == []


# --- a resume that fails is held ------------------------------------------------------------------


class Release:
    """An agent that can be fixed, as by a new release."""

    def __init__(self) -> None:
        self.broken = True

    async def __call__(self, ctx: ActivationContext) -> Complete | Suspend:
        if not ctx.is_resume:
            ctx.act("pay", {})
            return Suspend(b"s", timeout_ms=30_000)
        ctx.act("mail", {})
        if self.broken:
            raise RuntimeError("bad release")
        return Complete(ctx.resume_result.payload if ctx.resume_result else b"no answer")


def held(config: AgentConfig | None = None) -> tuple[AgentHarness, Release]:
    release = Release()
    harness = AgentHarness(release, config)
    harness.event(KEY, b"e", at_ms=1_000)
    harness.result(harness.intents[0], b"1", at_ms=2_000)
    return harness, release


def test_a_failed_resume_reports_all_that_it_holds() -> None:
    harness, _ = held()

    (error,) = harness.errors
    assert error.reason == "resume_failed"
    assert "bad release" in error.detail
    assert error.continuation
    assert list(error.requested_intent_ids) == [harness.intents[0].intent_id]
    assert error.answers[0].tool_result.payload == b"1"


def test_nothing_that_a_failed_resume_staged_leaves() -> None:
    harness, _ = held()

    assert [intent.tool_name for intent in harness.intents] == ["pay"]


def test_a_retry_runs_a_held_resume_again_with_its_answer() -> None:
    harness, release = held()
    release.broken = False

    harness.retry(KEY, 0, at_ms=90_000)

    assert harness.outputs == [b"1"]
    assert [(each.tool_name, each.step_index) for each in harness.intents] == [
        ("pay", 0),
        ("mail", 1),
    ]


def test_events_queue_while_a_resume_is_held() -> None:
    harness, release = held()

    harness.event(KEY, b"f", at_ms=3_000)
    assert len(harness.intents) == 1
    release.broken = False
    harness.retry(KEY, 0)

    assert harness.intents[-1].seq == 1


def test_the_suspensions_deadline_does_not_end_a_hold() -> None:
    harness, release = held()

    harness.advance_to(80_000)
    release.broken = False
    harness.retry(KEY, 0)

    assert harness.outputs == [b"1"]


def test_a_hold_ends_with_a_record_and_lets_the_queue_go() -> None:
    harness, _ = held(AgentConfig(hold_ms=10_000))
    harness.event(KEY, b"f", at_ms=3_000)

    harness.advance_to(12_000)

    assert [error.reason for error in harness.errors] == ["resume_failed", "hold_ended"]
    assert harness.errors[1].answers[0].tool_result.payload == b"1"
    assert harness.intents[-1].seq == 1


def test_a_retry_that_fails_does_not_prolong_the_hold() -> None:
    harness, _ = held(AgentConfig(hold_ms=10_000))

    harness.retry(KEY, 0, at_ms=11_000)
    harness.advance_to(12_000)

    assert [error.reason for error in harness.errors] == [
        "resume_failed",
        "resume_failed",
        "hold_ended",
    ]


@pytest.mark.parametrize("seq", [-1, 1])
def test_a_retry_of_what_is_not_held_changes_nothing(seq: int) -> None:
    harness, _ = held()
    before = harness.cell(KEY)

    harness.retry(KEY, seq)

    assert harness.cell(KEY) == before
    assert len(harness.errors) == 1


def test_a_retry_of_a_key_never_seen_leaves_no_state() -> None:
    harness = AgentHarness(echo)

    harness.retry(KEY, -1)

    assert harness.cell(KEY) == b""
    assert harness.errors == []


def test_a_failed_resume_may_be_set_to_end_with_its_answers_in_the_record() -> None:
    harness, _ = held(AgentConfig(on_resume_error="end"))

    assert harness.errors[0].answers[0].tool_result.payload == b"1"
    assert not harness.state(KEY).HasField("continuation")


def test_answers_still_arrive_while_a_resume_is_held() -> None:
    broken = [True, False]

    async def either(ctx: ActivationContext) -> Complete | Suspend:
        if not ctx.is_resume:
            ctx.act("pay", {})
            ctx.act("pay", {})
            return Suspend(b"", timeout_ms=30_000, wait_for="any")
        if broken.pop(0):
            raise RuntimeError("bad release")
        assert ctx.resume_result is not None  # still the one that ended the wait
        payloads = [each.payload for each in (*ctx.results.values(), ctx.resume_result)]
        return Complete(b" ".join(payloads))

    harness = AgentHarness(either)
    harness.event(KEY, b"e", at_ms=1_000)
    harness.result(harness.intents[1], b"2", at_ms=2_000)

    harness.result(harness.intents[0], b"1", at_ms=60_000)
    harness.retry(KEY, 0)

    assert harness.outputs == [b"1 2 2"]


def test_a_held_resume_is_shown_its_answers_as_they_came() -> None:
    broken = [True, False]

    async def vandal(ctx: ActivationContext) -> Complete | Suspend:
        if not ctx.is_resume:
            ctx.act("pay", {})
            return Suspend(b"", timeout_ms=30_000)
        assert ctx.resume_result is not None
        if broken.pop(0):
            ctx.resume_result.Clear()
            raise RuntimeError("after vandalism")
        return Complete(ToolResult.Status.Name(ctx.resume_result.status).encode())

    harness = AgentHarness(vandal)
    harness.event(KEY, b"e")
    harness.result(harness.intents[0])

    harness.retry(KEY, 0)

    assert harness.outputs == [b"OK"]


async def suspends_first(ctx: ActivationContext) -> Complete | Suspend:
    ctx.act("pay", {})
    return Suspend(b"" if not ctx.is_resume else b"x" * 2_000, timeout_ms=30_000)


async def hangs_on_resume(ctx: ActivationContext) -> Complete | Suspend:
    if ctx.is_resume:
        await asyncio.Event().wait()
    return await suspends_first(ctx)


async def returns_nothing_on_resume(ctx: ActivationContext) -> Complete | Suspend | None:
    return None if ctx.is_resume else await suspends_first(ctx)


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        (hangs_on_resume, "activation_timeout"),
        (returns_nothing_on_resume, "invalid_return"),
        (suspends_first, "state_too_large"),
    ],
)
def test_a_resume_is_held_however_it_failed(agent: Agent, reason: str) -> None:
    config = AgentConfig(activation_timeout_ms=20, max_snapshot_bytes=1_000)
    harness = AgentHarness(agent, config)
    harness.event(KEY, b"e", at_ms=1_000)

    harness.result(harness.intents[0], b"1", at_ms=2_000)

    (error,) = harness.errors
    assert error.reason == "resume_failed"
    assert error.detail.startswith(f"{reason}: ")
    assert harness.state(KEY).continuation.held


async def raises_a_lone_surrogate(ctx: ActivationContext) -> Complete:
    raise ValueError("no file \udcff.txt")


async def suspends_on_a_lone_surrogate(ctx: ActivationContext) -> Suspend:
    ctx.act("tool", {})
    return Suspend(snapshot=b"", adapter="\udcff", timeout_ms=1_000)


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        (raises_a_lone_surrogate, "agent_failed"),
        (suspends_on_a_lone_surrogate, "invalid_return"),
    ],
)
def test_text_that_utf8_cannot_carry_is_an_error_of_that_activation(
    agent: Agent, reason: str
) -> None:
    harness = AgentHarness(agent)

    harness.event(KEY, b"e")

    (error,) = harness.errors
    assert error.reason == reason
    assert "\\udcff" in error.detail
