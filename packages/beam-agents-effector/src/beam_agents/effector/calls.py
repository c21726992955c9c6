"""Calling a tool or its `reconcile`: where it runs, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from beam_agents.effector.alarms import Alarms
from beam_agents.effector.attempt import Attempt
from beam_agents.effector.interruptions import ClaimOver, DeadlinePassed, Withdrawn
from beam_agents.effector.invocation import Ended, Invocation, Raised, Stopped
from beam_agents.effector.threads import Threads


class ToolCalls:
    """Calls functions of the author's, on the loop or on a thread.

    Args:
        threads: Where functions run that may block.
        alarms: Ring timeouts and deadlines.
    """

    def __init__(self, threads: Threads, alarms: Alarms) -> None:
        self._threads = threads
        self._alarms = alarms
        self._running: set[Invocation] = set()
        self._remnants: set[asyncio.Future[Ended]] = set()
        self._abandoned = False

    def __len__(self) -> int:
        """Count the calls that run, those given up included."""
        return len(self._running) + len(self._remnants)

    async def abandon(self) -> None:
        """Give up every call, raising `Abandoned` to its caller, and wait for them to end."""
        self._abandoned = True
        for invocation in self._running:
            invocation.abandon()
        while self._running or self._remnants:
            await asyncio.wait(self._remnants) if self._remnants else await asyncio.sleep(0)

    def check(self) -> None:
        """Raise `Withdrawn` if every call was given up: none may begin any more."""
        if self._abandoned:
            raise Withdrawn

    async def on_loop(
        self, attempt: Attempt, function: Callable[[], object], timeout_ms: int
    ) -> Ended:
        """Call a function that cannot block, and wait for its end.

        Args:
            attempt: For whom. A call that is given up is left as the remnant of its work.
            function: The call. That it may begin was checked in this turn of the loop.
            timeout_ms: How long it may take.

        Raises:
            ClaimOver: The claim ended, and the function said nothing more.
            Abandoned: The service ends while the function runs.
        """
        invocation = Invocation(function, timeout_ms)
        ended = await invocation.begin_on_loop()
        return ended or await self._ended(attempt, invocation, timeout_ms)

    async def on_thread(
        self,
        attempt: Attempt,
        function: Callable[[], object],
        timeout_ms: int,
        *,
        ready: Callable[[], Awaitable[object]],
    ) -> Ended:
        """Wait for a thread, call a function there and wait for its end.

        Args:
            attempt: For whom. A call that is given up is left as the remnant of its work.
            function: The call.
            timeout_ms: How long it may take once it runs.
            ready: Awaited when there is a thread; raises if the call may not begin.

        Raises:
            DeadlinePassed: The deadline came before there was a thread.
            ClaimOver: The claim ended, and the function said nothing more.
            Withdrawn: The service ends, and the function was not called.
            Abandoned: The service ends while the function runs.
            Interruption: Whatever `ready` raises.
        """
        work = attempt.work
        # Only the deadline ends the wait; the claim is renewed meanwhile.
        with self._alarms.cutting_in(work, DeadlinePassed(), attempt.ms_until_deadline):
            await self._threads.seats.take(work)
        try:
            await ready()
        except BaseException:
            self._threads.seats.give_back()
            raise
        invocation = Invocation(function, timeout_ms)
        invocation.begin_on_thread(self._threads)
        return await self._ended(attempt, invocation, timeout_ms)

    async def _ended(self, attempt: Attempt, invocation: Invocation, timeout_ms: int) -> Ended:
        self._running.add(invocation)
        if self._abandoned:  # since the call began
            invocation.abandon()
        try:
            ending = await invocation.ending(self._alarms, attempt.lease)
        finally:
            self._running.remove(invocation)
            self._leave(attempt, invocation, timeout_ms)
        if isinstance(ending, Stopped):
            return await self._last_word(invocation, timeout_ms)
        return ending

    def _leave(self, attempt: Attempt, invocation: Invocation, timeout_ms: int) -> None:
        remnant = invocation.remnant
        attempt.work.leave(remnant, timeout_ms)
        if remnant is not None:
            self._remnants.add(remnant)
            remnant.add_done_callback(self._remnants.discard)

    async def _last_word(self, invocation: Invocation, timeout_ms: int) -> Ended:
        """Wait for what a tool still says that was stopped because its claim was about to end.

        A value, or an error of its own, is judged by the record like that of any
        late finisher; a cancellation leaves everything to the next claim.
        """
        remnant = invocation.remnant
        if remnant is not None:
            await self._alarms.reaching(remnant, timeout_ms)
        said = invocation.said
        if said is None or (
            isinstance(said, Raised) and isinstance(said.error, asyncio.CancelledError)
        ):
            raise ClaimOver
        return said
