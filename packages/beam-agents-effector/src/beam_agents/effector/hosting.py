"""Lets a tool begin in the task of the engine, and keep that task if it has to wait.

A tool that ends without waiting then costs neither a task nor a turn of the loop.
One that waits must find itself in the same task until its end, as timeouts and
cancel scopes are bound to the task in which they were entered. So it is the engine
that moves: its coroutine goes on in a new task, and the old one is the tool's, to
be cancelled or left behind alone.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from dataclasses import dataclass
from types import coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


@dataclass(slots=True)
class _Keep:
    """Asks `hosted` to leave its task to a tool.

    Attributes:
        tool: Stepped by hand up to where it waits; None if it has ended.
        waits_for: What it waits for, as it gave it to the loop.
        context: What the engine goes on in: as it was before the tool began.
    """

    tool: Coroutine[Any, Any, object] | None
    waits_for: Any
    context: Context


async def begin(tool: Coroutine[Any, Any, _T]) -> _T | asyncio.Task[_T]:
    """Run a tool up to where it waits; called from a coroutine that is `hosted`.

    Args:
        tool: Whatever the tool does, this coroutine must contain it.

    Returns:
        What the tool returned; or, where it waits, its task, with the caller in another.
    """
    task: asyncio.Task[Any] | None = asyncio.current_task()
    assert task is not None  # noqa: S101 - coroutines run in tasks
    context = copy_context()
    try:
        waits_for = tool.send(None)
    except StopIteration as ended:
        if copy_context() != context or _is_cancelling(task):
            await _leave_to(_Keep(None, None, context))  # it has left its mark on the task
        returned: _T = ended.value
        return returned
    await _leave_to(_Keep(tool, waits_for, context))
    return task


async def hosted(engine: Coroutine[Any, Any, object], move: Callable[[Any], object]) -> object:
    """Run a coroutine of the engine in this task, until a tool keeps the task.

    Args:
        engine: The coroutine.
        move: Called, in the context that it is to have, with what is left of it, to
            run that in another task; this one is none of the engine's any more.
    """
    return await _driven(engine, move)


@coroutine
def _driven(
    running: Coroutine[Any, Any, object], move: Callable[[Any], object]
) -> Generator[Any, None, object]:
    step: Callable[[Any], Any] = running.send
    argument: BaseException | None = None
    while True:
        try:
            waits_for = step(argument)
        except StopIteration as ended:
            return ended.value
        if isinstance(waits_for, _Keep):
            keep = waits_for
            keep.context.run(move, running)
            if keep.tool is None:
                return None
            running, waits_for = keep.tool, keep.waits_for
        try:
            yield waits_for
        except BaseException as error:
            step, argument = running.throw, error
        else:
            step, argument = running.send, None


@coroutine
def _leave_to(keep: _Keep) -> Generator[_Keep, None, None]:
    yield keep


def _is_cancelling(task: asyncio.Task[Any]) -> bool:
    """Tell whether the tool has cancelled the task in which it ran."""
    if sys.version_info >= (3, 11):
        return task.cancelling() > 0
    return bool(getattr(task, "_must_cancel", False))
