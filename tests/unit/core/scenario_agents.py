"""The agents of the scenarios, each with one habit."""

from __future__ import annotations

from beam_agents._protos import ToolResult
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.context import ActivationContext
from beam_agents.core.errors import ApprovalDenied, ApprovalNotGiven
from beam_agents.model.fake import FakeLLM, match_contains, respond_with
from beam_agents.tools import tool


async def remembers(ctx: ActivationContext) -> Complete | Suspend:
    """Completes with all events of the key so far, one after another."""
    grown = ctx.memory + ctx.event
    return Complete(grown, memory=grown)


async def fails_on_poison(ctx: ActivationContext) -> Complete:
    """Stages an effect, and fails on poison."""
    ctx.act("mail", {})
    if ctx.event == b"poison":
        raise ValueError("poison")
    return Complete(ctx.event)


async def two_effects(ctx: ActivationContext) -> Complete | Suspend:
    """Waits for two effects, one after the other."""
    if ctx.snapshot == b"2":
        return Complete(b"both")
    ctx.act("pay", {})
    return Suspend(b"2" if ctx.is_resume else b"1", timeout_ms=30_000)


async def says_when(ctx: ActivationContext) -> Complete | Suspend:
    """Runs once more when nobody answers in time."""
    if ctx.is_resume:
        return Complete(str(ctx.now_ms).encode())
    ctx.act("pay", {})
    return Suspend(b"", timeout_ms=30_000)


async def first_answer(ctx: ActivationContext) -> Complete | Suspend:
    """Waits for the first of two effects."""
    if ctx.is_resume:
        return Complete(str(ctx.value()).encode())
    for shop in ("north", "south"):
        ctx.act("reserve", {"shop": shop})
    return Suspend(b"", timeout_ms=30_000, wait_for="any")


async def asks_first(ctx: ActivationContext) -> Complete | Suspend:
    """Acts only with a person's approval."""
    if not ctx.is_resume:
        ctx.request_approval("pay", {"amount": 500})
    elif ctx.approvals:
        ctx.act("pay", {"amount": 500}, approval=ctx.grant())
    else:
        return Complete(b"paid")
    return Suspend(b"", timeout_ms=30_000)


async def recovers(ctx: ActivationContext) -> Complete | Suspend:
    """Cannot go on before its sixth second."""
    if not ctx.is_resume:
        ctx.act("pay", {})
        return Suspend(b"", timeout_ms=30_000)
    if ctx.now_ms < 6_000:
        raise ValueError("too early")
    return Complete(b"recovered")


async def two_at_once(ctx: ActivationContext) -> Complete | Suspend:
    """Waits for two effects, and tells how each ended."""
    if ctx.is_resume:
        ended = [ToolResult.Status.Name(each.status) for each in ctx.results.values()]
        return Complete(" ".join(ended).encode())
    for shop in ("north", "south"):
        ctx.act("reserve", {"shop": shop})
    return Suspend(b"", timeout_ms=30_000)


async def fires(ctx: ActivationContext) -> Complete:
    """Completes without waiting for its effect."""
    ctx.act("mail", {})
    return Complete(ctx.event)


async def may_be_refused(ctx: ActivationContext) -> Complete | Suspend:
    """Tells why it has no grant."""
    if not ctx.is_resume:
        ctx.request_approval("pay", {"amount": 500})
        return Suspend(b"", timeout_ms=30_000)
    try:
        return Complete(ctx.grant().approver.encode())
    except (ApprovalDenied, ApprovalNotGiven) as refusal:
        return Complete(str(refusal).encode())


@tool
def vat(cents: int) -> int:
    """Read-only."""
    return cents // 5


def model() -> FakeLLM:
    return FakeLLM([(match_contains("17"), respond_with("4200"))])


async def asks_and_reckons(ctx: ActivationContext) -> Complete:
    """Calls a model, and a tool with what it said."""
    cents = int(await ctx.call_model(ctx.event))
    return Complete(b"%d" % await ctx.call_tool(vat, {"cents": cents}))  # type: ignore[str-format]


async def says_its_seq(ctx: ActivationContext) -> Complete:
    """Completes with what it remembers, and its seq."""
    return Complete(b"%b%d" % (ctx.memory, ctx.seq), memory=b"remembers ")


async def returns_what_cannot_be(ctx: ActivationContext) -> Complete | Suspend:
    """Ends in what cannot be committed, as its event says."""
    if ctx.event == b"nothing to wait for":
        return Suspend(b"", timeout_ms=30_000)
    ctx.act("pay", {})
    return Suspend(b"x" * 100, timeout_ms=30_000)
