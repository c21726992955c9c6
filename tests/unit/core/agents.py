"""Small agents that the engine's tests share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from beam_agents._protos import ToolResult
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.context import ActivationContext

TIMEOUT_MS = 30_000
KEY = b"acct-1"


async def echo(ctx: ActivationContext) -> Complete:
    """Completes at once."""
    return Complete(ctx.event)


async def pay(ctx: ActivationContext) -> Complete | Suspend:
    """Waits for one effect, then completes with its status and payload."""
    if not ctx.is_resume:
        ctx.act("pay", {"event": ctx.event.decode()})
        return Suspend(ctx.event, timeout_ms=TIMEOUT_MS)
    return Complete(answered(ctx))


def answered(ctx: ActivationContext) -> bytes:
    """Describe the answer that completed the wait."""
    assert ctx.resume_result is not None
    status = ToolResult.Status.Name(ctx.resume_result.status)
    return ctx.snapshot + b": " + status.encode() + b" " + ctx.resume_result.payload


def in_turn(
    *runs: Callable[[ActivationContext], Complete | Suspend],
) -> Callable[[ActivationContext], Awaitable[Complete | Suspend]]:
    """Make an agent whose n-th run, of whatever key or activation, is the n-th function."""
    left = list(runs)

    async def agent(ctx: ActivationContext) -> Complete | Suspend:
        return left.pop(0)(ctx)

    return agent
