"""How many tools run at once: of one kind, and all together."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from beam_agents.effector.work import Work
from beam_agents.tools import Tool


class Permits(Protocol):
    """Something of which there are only so many."""

    def take_now(self) -> bool:
        """Take one if that needs no wait."""

    async def take(self, work: Work) -> None:
        """Wait for one.

        Raises:
            Interruption: Something cut in on the wait; none is held.
        """

    def give_back(self) -> None:
        """Pass one on to whoever waits longest."""


class Pool:
    """A number of permits, given in the order in which they were asked for."""

    __slots__ = ("_free", "_queue")

    def __init__(self, number: int) -> None:
        self._free = number
        self._queue: deque[asyncio.Future[None]] = deque()

    def take_now(self) -> bool:
        """Take a permit if one is free; then nobody waits for one."""
        if not self._free:
            return False
        self._free -= 1
        return True

    async def take(self, work: Work) -> None:
        """Wait for a permit; see `Permits.take`."""
        if self.take_now():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await work.wait_for(turn)
        except BaseException:
            self._decline(turn)
            raise

    def give_back(self) -> None:
        """Pass a permit on to whoever waits longest."""
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _decline(self, turn: asyncio.Future[None]) -> None:
        if not turn.cancelled():  # it was given just before its taker gave up
            self.give_back()
        elif turn in self._queue:
            self._queue.remove(turn)


class _Both:
    """A tool's own permit together with one of all, its own first: it is the scarcer."""

    __slots__ = ("_all", "_own")

    def __init__(self, own: Pool, of_all: Pool) -> None:
        self._own = own
        self._all = of_all

    def take_now(self) -> bool:
        """Take both or none."""
        if not self._own.take_now():
            return False
        if self._all.take_now():
            return True
        self._own.give_back()
        return False

    async def take(self, work: Work) -> None:
        """Wait for both; see `Permits.take`."""
        await self._own.take(work)
        try:
            await self._all.take(work)
        except BaseException:
            self._own.give_back()
            raise

    def give_back(self) -> None:
        """Return both."""
        self._all.give_back()
        self._own.give_back()


class ToolPermits:
    """What must be held to run a tool.

    Args:
        max_in_flight: How many tools may run at once.
    """

    def __init__(self, max_in_flight: int) -> None:
        self._all = Pool(max_in_flight)
        self._by_tool: dict[str, _Both] = {}

    def of(self, tool: Tool | None) -> Permits:
        """Return what a tool needs, or an intent that calls none."""
        if tool is None or tool.max_concurrency is None:
            return self._all
        both = self._by_tool.get(tool.name)
        if both is None:
            both = self._by_tool[tool.name] = _Both(Pool(tool.max_concurrency), self._all)
        return both
