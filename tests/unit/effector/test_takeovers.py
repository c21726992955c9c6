"""What becomes of an intent whose worker died after it may have called the tool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from beam_agents._protos import ToolResult
from beam_agents.effector.phase import Phase
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.intents import Outcome, Status
from beam_agents.tools import Applied, IntentInfo, NotApplied, ToolRegistry, Unknown, tool
from tests.unit.effector.flaky_store import FlakyStore
from tests.unit.effector.requests import LEASE_MS, request


def tools(**options: Any) -> ToolRegistry:
    @tool(side_effect=True, **options)
    async def charge(n: int = 0) -> int:
        return n

    return ToolRegistry(charge)


async def crash_and_take_over(
    registry: ToolRegistry, phase: Phase = Phase.COMPLETE
) -> tuple[ToolResult, int]:
    """Kill the first worker, by default just after the tool ran; return result and calls."""
    async with EffectorHarness(registry) as effector:
        await effector.deliver(request(args={"n": 7}))
        effector.crash_at(phase)
        await effector.settle()
        await effector.restart()
        await effector.advance(LEASE_MS + 30_000)
        (result,) = effector.results
        assert result.attempt == 2
        return result, effector.calls("charge")


async def test_by_default_the_tool_is_called_again() -> None:
    result, calls = await crash_and_take_over(tools())
    assert (result.status, calls) == (Status.OK, 2)


async def test_a_tool_that_must_not_run_twice_gives_an_error_instead() -> None:
    result, calls = await crash_and_take_over(tools(on_crash="fail"))
    assert (result.status, result.outcome, calls) == (Status.ERROR, Outcome.UNKNOWN, 1)


async def test_a_worker_that_died_before_the_tool_leaves_nothing_to_ask_about() -> None:
    result, calls = await crash_and_take_over(tools(on_crash="fail"), Phase.EXECUTE)
    assert (result.status, calls) == (Status.OK, 1)


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
class TestReconcile:
    async def reconcile(
        self, answer: Callable[[], object], is_async: bool
    ) -> tuple[ToolResult, int, list[tuple[int, IntentInfo]]]:
        asked: list[tuple[int, IntentInfo]] = []

        async def ask_async(n: int, *, intent: IntentInfo) -> object:
            asked.append((n, intent))
            return answer()

        def ask(n: int, *, intent: IntentInfo) -> object:
            asked.append((n, intent))
            return answer()

        registry = tools(reconcile=ask_async if is_async else ask)
        result, calls = await crash_and_take_over(registry)
        return result, calls, asked

    async def test_is_asked_with_the_arguments_and_the_intent(self, is_async: bool) -> None:
        _, _, asked = await self.reconcile(Unknown, is_async)
        ((n, intent),) = asked
        assert (n, intent.intent_id, intent.attempt) == (7, request().intent_id, 2)

    async def test_applied_becomes_ok_and_the_tool_is_not_called(self, is_async: bool) -> None:
        result, calls, _ = await self.reconcile(lambda: Applied({"txn": 88}), is_async)
        assert (result.status, result.payload, calls) == (Status.OK, b'{"txn":88}', 1)

    async def test_not_applied_calls_the_tool_now(self, is_async: bool) -> None:
        result, calls, _ = await self.reconcile(NotApplied, is_async)
        assert (result.status, calls) == (Status.OK, 2)

    @pytest.mark.parametrize("answer", [Unknown, lambda: None, lambda: 1 / 0, lambda: True])
    async def test_anything_else_is_unknown_and_the_tool_is_not_called(
        self, answer: Callable[[], object], is_async: bool
    ) -> None:
        result, calls, _ = await self.reconcile(answer, is_async)
        assert (result.status, result.outcome, calls) == (Status.ERROR, Outcome.UNKNOWN, 1)


async def test_a_reconcile_that_does_not_answer_is_unknown() -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    result, calls = await crash_and_take_over(tools(reconcile=hang, timeout_ms=5_000))
    assert (result.status, result.outcome, calls) == (Status.ERROR, Outcome.UNKNOWN, 1)
    assert "5000 ms" in result.error_message


async def test_a_tool_that_needs_its_invocation_marked_is_not_called_without_it() -> None:
    clock = SteppedClock()
    store = FlakyStore(clock=clock)
    store.silent = frozenset({"mark_invoked"})
    async with EffectorHarness(tools(on_crash="fail"), store=store, clock=clock) as effector:
        await effector.deliver(request())
        await effector.advance(10_000)
        assert effector.calls("charge") == 0
        store.silent = frozenset()
        await effector.advance(2_000)
        assert [(each.status, each.attempt) for each in effector.results] == [(Status.OK, 1)]


async def test_a_mark_whose_reply_was_lost_is_no_reason_to_ask() -> None:
    clock = SteppedClock()
    store = FlakyStore(clock=clock)
    store.unheard = frozenset({"mark_invoked"})
    async with EffectorHarness(tools(on_crash="fail"), store=store, clock=clock) as effector:
        await effector.deliver(request())
        await effector.settle()
        store.unheard = frozenset()
        await effector.advance(2_000)
        assert [each.status for each in effector.results] == [Status.OK]


async def test_a_rejection_by_a_later_attempt_does_not_claim_that_nothing_happened() -> None:
    refused: set[str] = set()
    async with EffectorHarness(tools(), refuse_tools=lambda: refused) as effector:
        await effector.deliver(request())
        effector.crash_at(Phase.COMPLETE)
        await effector.settle()
        refused.add("charge")
        await effector.restart()
        await effector.advance(LEASE_MS + 2_000)
        (result,) = effector.results
        assert (result.status, result.outcome) == (Status.REJECTED, Outcome.UNKNOWN)
