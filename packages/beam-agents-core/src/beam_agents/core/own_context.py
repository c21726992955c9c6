"""Context variables of one activation: what it sets is gone when it ends.

Several activations follow one another in one task, as a task each would cost more
than all the rest. So each is stepped by hand through a context of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context, copy_context
from types import CoroutineType, coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def in_own_context(
    awaitable: Awaitable[T], bound: Callable[[Awaitable[T]], Awaitable[T]]
) -> T:
    """Await something in a copy of the current context.

    Args:
        awaitable: Usually the call of an agent function.
        bound: Awaits what is left of it, should it wait for something at all: one
            that does not can neither be interrupted nor take part in a switch.
    """
    call = awaitable if isinstance(awaitable, CoroutineType) else _awaiting(awaitable)
    context = copy_context()
    try:
        awaited = context.run(call.send, None)
    except StopIteration as done:
        returned: T = done.value
        return returned
    return await bound(_go_on(call, context, awaited))


@coroutine
def _go_on(call: Coroutine[Any, Any, T], context: Context, awaited: Any) -> Generator[Any, Any, T]:
    """Wait for what the call waits for, as often as it does."""
    while True:
        try:
            step, value = call.send, (yield awaited)
        except BaseException as thrown:  # into us, meant for the call: a cancellation
            step, value = call.throw, thrown
        try:
            awaited = context.run(step, value)
        except StopIteration as done:
            returned: T = done.value
            return returned


async def _awaiting(awaitable: Awaitable[T]) -> T:
    return await awaitable
