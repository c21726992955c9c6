"""Context variables of one activation: what it sets is gone when it ends.

Several activations follow one another in one task, as a task each would cost more
than all the rest. So each is stepped by hand through a context of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from contextvars import copy_context
from types import CoroutineType, coroutine
from typing import Any, TypeVar

T = TypeVar("T")


@coroutine
def in_own_context(awaitable: Awaitable[T]) -> Generator[Any, Any, T]:
    """Await something in a copy of the current context."""
    call = awaitable if isinstance(awaitable, CoroutineType) else _awaiting(awaitable)
    run = copy_context().run
    step, value = call.send, None
    while True:
        try:
            awaited = run(step, value)
        except StopIteration as done:
            returned: T = done.value
            return returned
        try:
            step, value = call.send, (yield awaited)
        except BaseException as thrown:  # into us, meant for the call: a cancellation
            step, value = call.throw, thrown


async def _awaiting(awaitable: Awaitable[T]) -> T:
    return await awaitable
