"""An agent that does what its event's script says, and the world that it runs in.

A script lists the runs of one activation: `[[acts, end, fails_at, fails], …]`.

- acts: a letter for each: `p` an effect, `s` one that expires soon, `a` a request for
  approval, `g` an effect with the grant of such a request.
- end: `complete`; `all`, `any` or `first` of the unanswered intents to wait for; `none`,
  a wait for nothing; `garbage`, no return value at all.
- fails_at: the point at which it raises: before the act of this index, or after the last.
- fails: `never`, `always`, or while the release is `sick`.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from beam_agents._protos import ToolResult
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.context import ActivationContext

SHORT_MS = 300
TIMEOUT_MS = 1_000
MEMORY = 4  # bytes: one more for each commit


@dataclass(frozen=True)
class Run:
    """One run of a script."""

    acts: str
    end: str
    fails_at: int
    fails: str

    def raises_at(self, point: int, *, sick: bool) -> bool:
        """Tell whether the agent raises at this point."""
        return point == self.fails_at and (
            self.fails == "always" or (self.fails == "sick" and sick)
        )


def run_of(script: bytes, index: int) -> Run:
    """The run of this index; a script that is at its end completes."""
    runs = json.loads(script)
    return Run(*runs[index]) if index < len(runs) else Run("", "complete", 0, "never")


def script_of(*runs: Run) -> bytes:
    return json.dumps([[r.acts, r.end, r.fails_at, r.fails] for r in runs]).encode()


def arguments(index: int, act: int) -> dict[str, int]:
    """What the act of this index asks for in the run of that index."""
    return {"act": act, "run": index}


@dataclass
class World:
    """What a script does not say.

    Attributes:
        sick: A bad release is deployed.
        stop_at: At how many more points of a run its worker dies.
        reached: Done once that point is reached.
    """

    sick: bool = False
    stop_at: int | None = None
    reached: asyncio.Future[None] | None = None

    def reached_anew(self) -> asyncio.Future[None]:
        """Begin to wait for the point."""
        self.reached = asyncio.get_running_loop().create_future()
        return self.reached

    async def scripted(self, ctx: ActivationContext) -> Complete | Suspend:
        """The agent."""
        index, _, script = ctx.snapshot.partition(b"|") if ctx.is_resume else (b"0", b"", ctx.event)
        run, view = run_of(script, int(index)), seen_by(ctx)
        ids = list(ctx.pending)
        for point, letter in enumerate(run.acts):
            await self._pass(run, point)
            ids.append(_stage(ctx, letter, arguments(int(index), point)))
        await self._pass(run, len(run.acts))
        memory = (ctx.memory + b"m")[-MEMORY:]
        if run.end == "complete":
            return Complete(view, memory=memory)
        if run.end == "garbage":
            return "garbage"  # type: ignore[return-value]
        return Suspend(
            b"%d|%b" % (int(index) + 1, script),
            timeout_ms=TIMEOUT_MS,
            wait_for="any" if run.end == "any" else "all",
            await_ids={"first": ids[:1], "none": []}.get(run.end),
            memory=memory,
        )

    async def _pass(self, run: Run, point: int) -> None:
        """Get past a point of a run, unless the script or the worker ends there."""
        if run.raises_at(point, sick=self.sick):
            raise ValueError("as the script says")
        if self.stop_at == 0 and self.reached is not None:
            self.reached.set_result(None)
            await asyncio.Event().wait()
        if self.stop_at is not None:
            self.stop_at -= 1
        if point:  # the first may pass without waiting at all
            await asyncio.sleep(0)


def _stage(ctx: ActivationContext, letter: str, args: dict[str, int]) -> str:
    match letter:
        case "a":
            return ctx.request_approval("pay", args)
        case "s":
            return ctx.act("pay", args, ttl_ms=SHORT_MS)
        case "g":
            return ctx.act("pay", args, approval=ctx.grant())
        case _:
            return ctx.act("pay", args)


def seen_by(ctx: ActivationContext) -> bytes:
    """All that an agent is given, in one line."""
    last: Any = ctx.resume_result or ctx.resume_approval
    answers = {each: ToolResult.Status.Name(result.status) for each, result in ctx.results.items()}
    answers |= {each: decision(approval.approved) for each, approval in ctx.approvals.items()}
    return view_of(answers, ctx.pending, last.intent_id if last else "", ctx.timed_out, ctx.memory)


def decision(approved: bool) -> str:
    return "approved" if approved else "denied"


def view_of(answers: Any, pending: Any, last: str, timed_out: bool, memory: bytes) -> bytes:
    return json.dumps(
        [sorted(answers.items()), list(pending), last, timed_out, memory.decode()]
    ).encode()
