"""Whether a callable can be an agent: what cannot would fail at every single event."""

from __future__ import annotations

import functools
import inspect

_PROMISES = ("Awaitable", "Coroutine", "Future", "Task")


def problem_of(agent: object) -> str:
    """Say why an object is no agent function, and what to do; nothing if it may be one."""
    if not callable(agent):
        return f"the agent must be an async function, not {agent!r:.200}"
    if inspect.isclass(agent):
        return f"the agent must be an async function, not the class {agent.__qualname__!r}"
    function = _function_of(agent)
    name = getattr(function, "__qualname__", type(agent).__name__)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return (
            f"the agent {name!r} has a `yield`, which makes it a generator: await what it waits "
            "for, and return Complete or Suspend"
        )
    if inspect.isfunction(function) and not _is_async(function):
        return (
            f"the agent {name!r} is not async: define it by `async def` (or, where it returns "
            "another function's awaitable, annotate it so)"
        )
    return ""


def _function_of(agent: object) -> object:
    """Return what a call runs: of a partial, a bound method or an object with `__call__`."""
    while isinstance(agent, functools.partial):
        agent = agent.func
    if not inspect.isroutine(agent):
        agent = inspect.getattr_static(type(agent), "__call__")
    return getattr(agent, "__func__", agent)


def _is_async(function: object) -> bool:
    if inspect.iscoroutinefunction(inspect.unwrap(function)):  # type: ignore[arg-type]
        return True
    # As text: an annotation may be a string, and name what cannot be imported from here.
    returned = str(getattr(function, "__annotations__", {}).get("return", ""))
    return any(promise in returned for promise in _PROMISES)
