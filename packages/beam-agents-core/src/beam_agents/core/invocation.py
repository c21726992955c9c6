"""Calling the agent function: in bounded time, and with every way to fail made a value."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from traceback import TracebackException, format_list

from beam_agents.core.agent import Agent, Complete, Suspend
from beam_agents.core.context import ActivationContext
from beam_agents.core.own_context import in_own_context
from beam_agents.core.time_limit import TimeIsUp, TimeLimit

# The message of a cancellation from outside: an agent may raise the exception by itself.
ABANDONED = "the bundle was given up"
_TRACEBACK_FRAMES = 8
_DETAIL_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Failed:
    """The run changes nothing.

    Attributes:
        reason: A reason of `ActivationErrorRecord`.
        detail: What happened, bounded.
    """

    reason: str
    detail: str


async def invoke(
    agent: Agent, context: ActivationContext, limit: TimeLimit
) -> Complete | Suspend | Failed:
    """Run the agent function once.

    Only a cancellation by `ABANDONED` is raised.
    """
    try:
        call = agent(context)
        if not inspect.isawaitable(call):
            return _invalid(f"the agent returned {call!r:.200} at once: define it by `async def`")
        returned = await in_own_context(call, limit.bound)
    except TimeIsUp:
        return Failed(
            "activation_timeout",
            f"the agent ran longer than AgentConfig(activation_timeout_ms={limit.limit_ms})",
        )
    except asyncio.CancelledError as error:
        if ABANDONED in error.args:
            raise
        return Failed("agent_failed", _describe(error))
    except BaseException as error:  # a SystemExit would end every key's loop
        return Failed("agent_failed", _describe(error))
    if not isinstance(returned, (Complete, Suspend)):
        return _invalid(f"the agent returned {returned!r:.200}: return Complete or Suspend")
    return returned


def _describe(error: BaseException) -> str:
    """Return type and message, then the last frames."""
    report = TracebackException.from_exception(error)
    summary = "".join(report.format_exception_only())
    frames = "".join(format_list(report.stack[-_TRACEBACK_FRAMES:]))
    # A lone surrogate, as file names bring them, would not fit into an error record.
    return f"{summary}{frames}".encode(errors="backslashreplace").decode()[:_DETAIL_CHARS]


def _invalid(detail: str) -> Failed:
    return Failed("invalid_return", detail)
