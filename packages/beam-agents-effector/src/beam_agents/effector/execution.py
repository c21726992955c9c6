"""Performing one intent under its claim: what may stop it, what runs it, what it comes to."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from itertools import count

from beam_agents._protos import ToolIntent
from beam_agents.effector.alarms import Alarms
from beam_agents.effector.approvals import Approvals
from beam_agents.effector.attempt import Attempt
from beam_agents.effector.calls import ToolCalls
from beam_agents.effector.endings import Endings
from beam_agents.effector.grants import Grants
from beam_agents.effector.interruptions import ClaimOver, DeadlinePassed, Withdrawn
from beam_agents.effector.invocation import Ended, Raised
from beam_agents.effector.ports import Clock, DedupStore
from beam_agents.effector.probe import Probe
from beam_agents.effector.screening import Rejected, Screening
from beam_agents.effector.takeovers import Takeovers
from beam_agents.tools import Retryable, Tool
from beam_agents.tools.signature import underlying

_APPROVAL = ToolIntent.APPROVAL

_FIRST_RETRY_MS = 100
_LONGEST_RETRY_MS = 5_000


class Execution:
    """Carries out attempts.

    Args:
        screening: Says whether a tool may be called at all.
        grants: Checks approvals.
        takeovers: Decides where an earlier attempt may have called the tool.
        approvals: Passes approval requests on.
        calls: Calls tools.
        endings: Turns the ends of calls into results.
        store: Told of invocations, where the tool asks for it.
        alarms: Time the waits between runs.
        clock: Time.
        probe: Told of each call.
        tool_timeout_ms: For tools that do not say so themselves.
    """

    def __init__(
        self,
        *,
        screening: Screening,
        grants: Grants,
        takeovers: Takeovers,
        approvals: Approvals,
        calls: ToolCalls,
        endings: Endings,
        store: DedupStore,
        alarms: Alarms,
        clock: Clock,
        probe: Probe,
        tool_timeout_ms: int,
    ) -> None:
        self._screening = screening
        self._grants = grants
        self._takeovers = takeovers
        self._approvals = approvals
        self._calls = calls
        self._endings = endings
        self._store = store
        self._alarms = alarms
        self._clock = clock
        self._probe = probe
        self._tool_timeout_ms = tool_timeout_ms
        self._on_loop: dict[str, bool] = {}

    async def run(self, attempt: Attempt) -> bytes:
        """Perform an attempt and return its result; empty for an approval request passed on.

        Raises:
            Withdrawn: Nothing was called; the claim can be handed back.
            NotYetKnown: Nothing was called; another worker may know the tool.
            ClaimOver: The claim cannot be acted on any more.
            ConnectionError: The store did not answer; nothing was called.
        """
        try:
            if attempt.work.intent.kind == _APPROVAL:
                return await self._approvals.request(attempt)
            screened = self._screening.judge(attempt.work)
            if isinstance(screened, Rejected):
                return attempt.rejected(screened.reason)
            return await self._run_tool(attempt, screened.tool, screened.arguments)
        except DeadlinePassed:
            return attempt.expired()

    async def _run_tool(
        self, attempt: Attempt, tool: Tool, arguments: Mapping[str, object]
    ) -> bytes:
        if tool.needs_approval(arguments):
            refusal = await self._grants.refusal(attempt.intent)
            if refusal is not None:
                return attempt.rejected(refusal)
        if attempt.lease.invoked_before:
            result = await self._takeovers.judge(attempt, tool, arguments, self._timeout_ms(tool))
            if result is not None:
                return result
        ended = await self._call(attempt, tool, arguments, self._timeout_ms(tool))
        if isinstance(ended, Raised) and isinstance(ended.error, Retryable):
            ended = await self._call_again(attempt, tool, arguments, ended)
        return self._endings.result(attempt, ended)

    async def _call_again(
        self, attempt: Attempt, tool: Tool, arguments: Mapping[str, object], ended: Ended
    ) -> Ended:
        """Call the tool once more while it asks for that and there is time."""
        ends_ms, retries = attempt.started_ms + self._timeout_ms(tool), count()
        while isinstance(ended, Raised) and isinstance(ended.error, Retryable):
            wait_ms = self._retry_in(attempt, ended.error, next(retries), ends_ms)
            if wait_ms is None:
                break
            await self._alarms.resting(wait_ms)
            left_ms = ends_ms - self._clock.monotonic_ms()
            if left_ms <= 0:  # woken too late
                break
            try:
                ended = await self._call(attempt, tool, arguments, left_ms)
            except (DeadlinePassed, Withdrawn):  # between two runs: the last one's word stands
                break
        return ended

    async def _call(
        self, attempt: Attempt, tool: Tool, arguments: Mapping[str, object], timeout_ms: int
    ) -> Ended:
        function = partial(tool.invoke, arguments, attempt.info())
        if self._runs_on_loop(tool):
            await self._begin(attempt, tool)
            return await self._calls.on_loop(attempt, function, timeout_ms)
        return await self._calls.on_thread(
            attempt, function, timeout_ms, ready=partial(self._begin, attempt, tool)
        )

    async def _begin(self, attempt: Attempt, tool: Tool) -> None:
        """Pass the last checks before the tool is called, in this very turn of the loop."""
        self._calls.check()
        if not attempt.started_at_ms:
            attempt.work.check()
            if tool.on_crash != "reexecute":
                # No acknowledgement, no call: else a successor would not ask what came of it.
                if not await self._store.mark_invoked(attempt.lease.claim):
                    raise ClaimOver
                attempt.work.check()
        attempt.begin()
        self._probe.invoke(attempt.intent)

    def _retry_in(self, attempt: Attempt, asked: Retryable, retry: int, ends_ms: int) -> int | None:
        """Say how long to wait for another run; None if there is no time for one."""
        backoff_ms = min(_FIRST_RETRY_MS << min(retry, 16), _LONGEST_RETRY_MS)
        wait_ms = max(asked.retry_after_ms or 0, backoff_ms)
        left_ms = ends_ms - self._clock.monotonic_ms()
        return wait_ms if wait_ms < min(left_ms, attempt.ms_until_deadline) else None

    def _timeout_ms(self, tool: Tool) -> int:
        return tool.timeout_ms or self._tool_timeout_ms

    def _runs_on_loop(self, tool: Tool) -> bool:
        """Tell whether calling the tool cannot block; where that is unclear, it can."""
        known = self._on_loop.get(tool.name)
        if known is None:
            function = underlying(getattr(tool, "__wrapped__", tool))
            known = self._on_loop[tool.name] = inspect.iscoroutinefunction(function)
        return known
