"""How many tools run at once: of one kind, and all together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from beam_agents.effector.work import Work
from beam_agents.tools import Tool


class Permits:
    """A number of permits, given in the order in which they were asked for."""

    __slots__ = ("_free", "_queue")

    def __init__(self, number: int) -> None:
        self._free = number
        self._queue: deque[asyncio.Future[None]] = deque()

    async def take(self, work: Work) -> None:
        """Wait for a permit.

        Raises:
            Interruption: Something cut in on the wait; no permit is held.
        """
        if self.take_now():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await work.wait_for(turn)
        except BaseException:
            self._decline(turn)
            raise

    def take_now(self) -> bool:
        """Take a permit if one is free; then nobody waits for one."""
        if not self._free:
            return False
        self._free -= 1
        return True

    def give_back(self) -> None:
        """Pass a permit on to whoever waits longest."""
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _decline(self, turn: asyncio.Future[None]) -> None:
        if turn.cancelled():
            if turn in self._queue:
                self._queue.remove(turn)
        else:  # it was given just before its taker gave up
            self.give_back()


class ToolPermits:
    """The permits of every tool, under one bound for all.

    Args:
        max_in_flight: How many tools may run at once.
    """

    def __init__(self, max_in_flight: int) -> None:
        self._all = Permits(max_in_flight)
        self._by_tool: dict[str, Permits] = {}

    def of(self, tool: Tool | None) -> tuple[Permits, ...]:
        """Return what must be taken to run a tool: its own permit first, if it is bounded."""
        if tool is None or tool.max_concurrency is None:
            return (self._all,)
        own = self._by_tool.get(tool.name)
        if own is None:
            own = self._by_tool[tool.name] = Permits(tool.max_concurrency)
        return own, self._all


async def take_all(work: Work, permits: Sequence[Permits]) -> None:
    """Take one of each, in order, or none.

    Raises:
        Interruption: As `Permits.take`.
    """
    taken: list[Permits] = []
    try:
        for each in permits:
            await each.take(work)
            taken.append(each)
    except BaseException:
        give_all_back(taken)
        raise


def give_all_back(permits: Sequence[Permits]) -> None:
    """Return one of each."""
    for each in permits:
        each.give_back()
