"""A tool that waits has a task of its own, and none leaves its mark on what comes after it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from beam_agents.effector.hosting import begin
from beam_agents.effector.tasks import Tasks
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.intents import Status
from beam_agents.tools import ToolRegistry, tool
from tests.unit.effector.requests import request

MARK: ContextVar[str] = ContextVar("mark", default="clean")


async def run_two(function: Callable[[], Coroutine[Any, Any, object]]) -> EffectorHarness:
    """Run a tool twice for one key."""
    registry = ToolRegistry(tool(name="charge", side_effect=True)(function))
    async with EffectorHarness(registry) as effector:
        for seq in range(2):
            await effector.deliver(request(seq=seq))
        await effector.settle()
        return effector


async def test_a_tool_that_waits_is_in_one_task_to_its_end() -> None:
    seen: list[asyncio.Task[Any] | None] = []

    async def charge() -> None:
        seen.append(asyncio.current_task())
        await asyncio.sleep(0)
        seen.append(asyncio.current_task())

    await run_two(charge)
    assert seen[0] is seen[1]
    assert seen[2] is seen[3]
    assert seen[0] is not seen[2]


@pytest.mark.parametrize("waits", [False, True])
async def test_what_a_tool_leaves_in_its_context_reaches_no_other(waits: bool) -> None:
    found: list[str] = []

    async def charge() -> None:
        found.append(MARK.get())
        MARK.set("marked")
        if waits:
            await asyncio.sleep(0)
            assert MARK.get() == "marked"

    await run_two(charge)
    assert found == ["clean", "clean"]


@pytest.mark.parametrize("waits", [False, True])
async def test_a_tool_that_cancels_its_own_task_cancels_nothing_of_ours(waits: bool) -> None:
    async def charge() -> str:
        if waits:
            await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return "charged"

    effector = await run_two(charge)
    assert [result.status for result in effector.results] == [Status.OK, Status.OK]


async def test_the_engine_keeps_its_own_context_when_a_tool_keeps_the_task() -> None:
    found: list[str] = []

    async def waiting() -> str:
        MARK.set("the tool's")
        await asyncio.sleep(0)
        return MARK.get()

    async def engine() -> None:
        MARK.set("the engine's")
        task = await begin(waiting())
        assert isinstance(task, asyncio.Task)
        assert task is not asyncio.current_task()
        found.extend([MARK.get(), await task])

    tasks = Tasks()
    tasks.start_hosting(engine())
    while len(found) < 2:  # noqa: ASYNC110 - there is no event for a task's end
        await asyncio.sleep(0)
    await tasks.end_all()
    assert found == ["the engine's", "the tool's"]


async def test_what_the_engine_raises_is_heard_of_wherever_it_goes_on() -> None:
    async def engine() -> None:
        await begin(asyncio.sleep(0))
        raise ValueError("a bug")

    tasks = Tasks()
    tasks.start_hosting(engine())
    with pytest.raises(ValueError, match="a bug"):
        await tasks.first(asyncio.Event().wait())
    await tasks.end_all()


async def test_cancelling_the_engine_reaches_it_and_not_the_tool() -> None:
    reached: list[str] = []

    async def waiting() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            reached.append("tool")

    async def engine() -> None:
        task = await begin(waiting())
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            reached.append("engine")
            raise
        finally:
            tools.append(task)

    tools: list[object] = []
    tasks = Tasks()
    tasks.start_hosting(engine())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await tasks.end_all()
    assert reached == ["engine"]
    (tool_task,) = tools
    assert isinstance(tool_task, asyncio.Task)
    tool_task.cancel()
    await tool_task
    assert reached == ["engine", "tool"]
