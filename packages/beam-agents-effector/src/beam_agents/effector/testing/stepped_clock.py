"""A clock on which sleepers wait until a test moves the time on."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count


class SteppedClock:
    """A `Clock` for a whole effector; nothing wakes but by `step`.

    Args:
        now_ms: Where it starts, in unix milliseconds.
    """

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = count()

    def now_ms(self) -> int:
        """Unix milliseconds."""
        return self._now_ms

    def monotonic_ms(self) -> int:
        """The same count, which never steps back."""
        return self._now_ms

    async def sleep(self, ms: int) -> None:
        """Wait until the time has been moved on by `ms` milliseconds."""
        if ms <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now_ms + ms, next(self._order), woken))
        await woken

    @property
    def next_wake_ms(self) -> int | None:
        """When the next sleeper is due; None if nobody sleeps."""
        while self._sleepers and self._sleepers[0][2].done():  # cancelled
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def step(self, to_ms: int) -> None:
        """Move the time on, and wake who is due. Let them run before the next step."""
        self._now_ms = max(self._now_ms, to_ms)
        while (due_ms := self.next_wake_ms) is not None and due_ms <= self._now_ms:
            heapq.heappop(self._sleepers)[2].set_result(None)
