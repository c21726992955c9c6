"""The limit on one run of an agent: one lazy timer for all runs, as a timer each costs more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class TimeIsUp(Exception):
    """The call took longer than its limit, and was cancelled."""


class TimeLimit:
    """Bounds every call awaited through it by the same time.

    By hand: Python 3.10 has no `asyncio.timeout`, and later ones spend on it a
    fifth of what a whole activation costs here.
    """

    def __init__(self, limit_ms: int) -> None:
        self.limit_ms = limit_ms
        # All have the same limit, so they end in the order in which they began.
        self._ends: dict[asyncio.Task[object], float] = {}
        self._expired: set[asyncio.Task[object]] = set()
        self._is_armed = False

    async def bound(self, call: Awaitable[T]) -> T:
        """Await a call. Its time runs from now: what does not wait cannot be interrupted.

        Raises:
            TimeIsUp: It did not return in time, whatever it did with its cancellation.
        """
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - coroutines run in tasks here
        loop = asyncio.get_running_loop()
        end = self._ends[task] = loop.time() + self.limit_ms / 1000
        if not self._is_armed:
            self._arm(loop, end)
        try:
            returned = await call
        except asyncio.CancelledError:
            if task not in self._expired:
                raise
        finally:
            del self._ends[task]
        if task in self._expired:
            self._expired.remove(task)
            if hasattr(task, "uncancel"):  # since Python 3.11
                task.uncancel()
            raise TimeIsUp
        return returned

    def _arm(self, loop: asyncio.AbstractEventLoop, end: float) -> None:
        self._is_armed = True
        loop.call_at(end, self._cancel_overdue, loop)

    def _cancel_overdue(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_armed = False
        for task, end in self._ends.items():
            if end > loop.time():
                self._arm(loop, end)
                return
            if task not in self._expired:
                self._expired.add(task)
                task.cancel()
