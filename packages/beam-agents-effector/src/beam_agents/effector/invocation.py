"""One call of a tool, watched from outside: whatever the tool does, the call has one ending."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import CoroutineType
from typing import TypeAlias

from beam_agents.effector.alarms import Alarms
from beam_agents.effector.claims import Lease
from beam_agents.effector.hosting import begin
from beam_agents.effector.interruptions import Abandoned
from beam_agents.effector.threads import Call, Threads


@dataclass(frozen=True, slots=True)
class Returned:
    """The tool returned."""

    value: object


@dataclass(frozen=True, slots=True)
class Raised:
    """The tool raised, anything at all: an exit, an interrupt, a cancellation nobody asked for."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The tool was told to stop because its time was up; it may still run."""

    after_ms: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The tool was told to stop because its claim was about to end; it may still run."""


Ended: TypeAlias = Returned | Raised | TimedOut
Ending: TypeAlias = Ended | Stopped


class Invocation:
    """Calls a function on the loop or on a thread, and hears of its end or gives it up.

    What the call returns decides whether there is something to await, not what
    the function looks like: coroutines hide behind wrappers and callable objects.

    Args:
        function: The call, with its arguments.
        timeout_ms: How long it may take.
    """

    __slots__ = ("_call", "_ending", "_function", "_task", "_timeout_ms", "_verdict")

    def __init__(self, function: Callable[[], object], timeout_ms: int) -> None:
        self._function = function
        self._timeout_ms = timeout_ms
        self._ending: Ending | None = None
        self._verdict: asyncio.Future[Ending]  # there once somebody has to wait for it
        self._task: asyncio.Task[Ended] | None = None
        self._call: Call[Ended] | None = None

    async def begin_on_loop(self) -> Ended | None:
        """Call the function, and return its end if it does not wait; else the task is its own."""
        ended = await begin(self._contained(self._function))
        if not isinstance(ended, asyncio.Task):
            return ended
        self._task = ended
        self._verdict = asyncio.get_running_loop().create_future()
        if self._ending is not None:  # it was quicker than we in our new task
            self._verdict.set_result(self._ending)
        return None

    def begin_on_thread(self, threads: Threads) -> None:
        """Call the function on a thread; the caller has taken a seat."""
        self._verdict = asyncio.get_running_loop().create_future()
        self._call = threads.start(lambda: _called(self._function))
        self._call.ended.add_done_callback(self._thread_ended)

    async def ending(self, alarms: Alarms, lease: Lease) -> Ending:
        """Wait for the end, for the timeout, or for the end of the claim."""
        alarm = alarms.after(self._timeout_ms, self._time_is_up)
        lease.on_over = self._claim_is_over
        if lease.over:  # since the call began
            self._claim_is_over()
        try:
            return await self._verdict
        finally:
            alarm.cancel()
            lease.on_over = None
            self._give_up()

    def abandon(self) -> None:
        """End the wait by raising `Abandoned` in it."""
        if not self._verdict.done():
            self._verdict.set_exception(Abandoned())

    @property
    def remnant(self) -> asyncio.Future[Ended] | None:
        """What still runs although it was given up."""
        if self._task is not None:
            return None if self._task.done() else self._task
        if self._call is not None and not self._call.ended.done():
            return self._call.ended
        return None

    @property
    def said(self) -> Ended | None:
        """How a call on the loop has ended in truth, whatever was decided before."""
        if self._task is None or not self._task.done() or self._task.cancelled():
            return None
        return self._task.result()

    async def _contained(self, function: Callable[[], object]) -> Ended:
        ending: Ended
        try:
            value = function()
            if isinstance(value, CoroutineType) or inspect.isawaitable(value):
                value = await value
            ending = Returned(value)
        except BaseException as error:
            ending = Raised(error)
        self._decide(ending)
        return ending

    def _thread_ended(self, ended: asyncio.Future[Ended]) -> None:
        ending = ended.result()
        if not isinstance(ending, Returned) or not inspect.isawaitable(ending.value):
            self._decide(ending)
        elif self._verdict.done():
            _discard(ending.value)
        else:
            awaitable = ending.value
            self._task = asyncio.ensure_future(self._contained(lambda: awaitable))

    def _time_is_up(self) -> None:
        self._decide(TimedOut(self._timeout_ms))

    def _claim_is_over(self) -> None:
        # A thread cannot be stopped; its late answer is judged by the record.
        if self._task is not None:
            self._decide(Stopped())

    def _decide(self, ending: Ending) -> None:
        if self._ending is None:
            self._ending = ending
            if hasattr(self, "_verdict") and not self._verdict.done():
                self._verdict.set_result(ending)

    def _give_up(self) -> None:
        if self._task is not None:
            self._task.cancel()
        elif self._call is not None and not self._call.ended.done():
            self._call.leave_behind()


def _called(function: Callable[[], object]) -> Ended:
    try:
        return Returned(function())
    except BaseException as error:
        return Raised(error)


def _discard(awaitable: object) -> None:
    """Close a coroutine that nobody will await, so that it is not reported as forgotten."""
    if inspect.iscoroutine(awaitable):
        awaitable.close()
