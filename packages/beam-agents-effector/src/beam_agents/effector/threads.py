"""Threads of our own for tools that block: bounded, and never waited for at exit.

The standard executor joins its threads when the process ends; a tool that blocks
for ever would then keep a stopped effector alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

from beam_agents.effector.permits import Pool

_T = TypeVar("_T")


class _Thread:
    """A thread that runs what it is handed, one job after the other."""

    def __init__(self, number: int) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        name = f"beam-agents-tool-{number}"
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def hand(self, job: Callable[[], None] | None) -> None:
        """Run a job; None ends the thread."""
        self._jobs.put(job)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


class Threads:
    """Seats for blocking calls, each with a thread.

    Args:
        seats: How many calls may run at once.
    """

    def __init__(self, seats: int) -> None:
        self.seats = Pool(seats)
        self._number = seats
        self._idle: list[_Thread] = []
        self._started = 0
        self._left_behind = 0

    def start(self, function: Callable[[], _T]) -> Call[_T]:
        """Run a function that never raises. Whoever calls has taken a seat, and gives it away."""
        if not self._idle:
            self._started += 1
            self._idle.append(_Thread(self._started))
        return Call(self, self._idle.pop(), function)

    def close(self) -> None:
        """End the idle threads. Those left behind end with the process."""
        while self._idle:
            self._idle.pop().hand(None)

    def leave_behind(self) -> bool:
        """Count a call that nobody waits for; tell whether its seat may be refilled already.

        As many again as there are seats may be left behind before seats get fewer.
        """
        self._left_behind += 1
        return self._left_behind <= self._number

    def returned(self, thread: _Thread, *, left_behind: bool) -> None:
        """Take a thread back."""
        self._left_behind -= left_behind
        if len(self._idle) < self._number:
            self._idle.append(thread)
        else:
            thread.hand(None)


class Call(Generic[_T]):
    """A call that runs on a thread.

    Attributes:
        ended: Done when the function has returned, with what it returned.
    """

    def __init__(self, threads: Threads, thread: _Thread, function: Callable[[], _T]) -> None:
        self._threads = threads
        self._thread = thread
        self._left_behind = False
        self._seat_is_ours = True
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[_T] = loop.create_future()
        context = contextvars.copy_context()
        thread.hand(lambda: self._run(loop, lambda: context.run(function)))

    def leave_behind(self) -> None:
        """Wait for it no more: a thread cannot be stopped."""
        self._left_behind = True
        if self._threads.leave_behind():
            self._give_seat_back()

    def _run(self, loop: asyncio.AbstractEventLoop, function: Callable[[], _T]) -> None:
        result = function()
        # Closed: nobody waits any more, the process is about to end.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._end, result)

    def _end(self, result: _T) -> None:
        self._threads.returned(self._thread, left_behind=self._left_behind)
        if self._seat_is_ours:
            self._give_seat_back()
        if not self.ended.done():
            self.ended.set_result(result)

    def _give_seat_back(self) -> None:
        self._seat_is_ours = False
        self._threads.seats.give_back()
