"""What to do where an earlier attempt may have called the tool before its worker died."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from beam_agents.effector.attempt import Attempt
from beam_agents.effector.calls import ToolCalls
from beam_agents.effector.endings import Endings
from beam_agents.effector.invocation import Ended, Raised, Returned, TimedOut
from beam_agents.intents.outcome import Outcome
from beam_agents.tools import Applied, NotApplied, Tool, Unknown

_MAY_HAVE_RUN = "an earlier attempt may have had the effect"


class Takeovers:
    """Follows a tool's `on_crash`.

    Args:
        calls: Calls `reconcile`.
        endings: Builds the result of an effect that happened.
    """

    def __init__(self, calls: ToolCalls, endings: Endings) -> None:
        self._calls = calls
        self._endings = endings

    async def judge(
        self, attempt: Attempt, tool: Tool, arguments: Mapping[str, object], timeout_ms: int
    ) -> bytes | None:
        """Return the result if the tool must not be called; None if it is to be called now.

        Raises:
            Interruption: As `ToolCalls.on_thread`.
        """
        if tool.reconcile is None:
            if tool.on_crash == "reexecute":
                return None
            return attempt.error(Outcome.UNKNOWN, f"{_MAY_HAVE_RUN}, and the tool runs only once")
        ended = await self._calls.on_thread(
            attempt,
            partial(tool.reconcile, arguments, attempt.info()),
            timeout_ms,
            ready=attempt.require_startable,
        )
        if isinstance(ended, Returned) and isinstance(ended.value, NotApplied):
            return None
        if isinstance(ended, Returned) and isinstance(ended.value, Applied):
            return self._endings.applied(attempt, ended.value.value)
        return attempt.error(Outcome.UNKNOWN, f"{_MAY_HAVE_RUN}: {_why_unknown(ended)}")


def _why_unknown(ended: Ended) -> str:
    if isinstance(ended, TimedOut):
        return f"reconcile did not answer within {ended.after_ms} ms"
    if isinstance(ended, Raised):
        return f"reconcile raised {type(ended.error).__qualname__}"
    if isinstance(ended.value, Unknown):
        return ended.value.message or "reconcile cannot tell"
    return f"reconcile returned {type(ended.value).__qualname__}, which is no answer"
