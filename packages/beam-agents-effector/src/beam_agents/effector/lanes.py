"""Order: intents of one entity key run one after the other, those of different keys together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator
from typing import Any

from beam_agents.effector.work import Work


class _Lane:
    """The intents of one key: those that run, and those whose turn has not come."""

    __slots__ = ("overlapping", "running", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Work] = deque()
        self.running: set[Work] = set()
        self.overlapping = True
        """Whether all that run may overlap with others of their key."""

    def take_next(self) -> Work | None:
        """Take the first in line, if what runs lets it begin.

        An intent that may overlap begins as soon as every unfinished predecessor
        may overlap too; any other begins alone.
        """
        if not self.waiting:
            return None
        may_overlap = self.waiting[0].intent.may_overlap
        if self.running and not (may_overlap and self.overlapping):
            return None
        work = self.waiting.popleft()
        self.running.add(work)
        self.overlapping = may_overlap
        return work


class Lanes:
    """Runs each intent when its turn in its lane has come.

    One task works off a lane, not one an intent; only intents that overlap have
    tasks of their own beside it.

    Args:
        run: Carries one intent to its end.
        start: Starts a task; what the task raises is for its owner to notice.
    """

    def __init__(
        self,
        run: Callable[[Work], Awaitable[None]],
        *,
        start: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._run = run
        self._start = start
        self._lanes: dict[bytes, _Lane] = {}
        self._emptied: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._lanes)

    def add(self, work: Work) -> None:
        """Put an intent in line behind the others of its key."""
        key = work.entity_key
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane()
        lane.waiting.append(work)
        self._begin(key, lane)

    def withdraw(self, lost: Collection[str] | None = None) -> None:
        """Drop what waits and let nothing new begin, for some partitions or for all."""
        for work in list(self._works()):
            if lost is None or work.delivery.partition in lost:
                work.withdraw()

    async def emptied(self) -> None:
        """Wait until no intent is left; for one waiter."""
        if self._lanes:
            self._emptied = asyncio.get_running_loop().create_future()
            await self._emptied

    def _works(self) -> Iterator[Work]:
        for lane in self._lanes.values():
            yield from lane.running
            yield from lane.waiting

    def _begin(self, key: bytes, lane: _Lane) -> None:
        while (work := lane.take_next()) is not None:
            self._start(self._work_off(key, lane, work))

    async def _work_off(self, key: bytes, lane: _Lane, work: Work | None) -> None:
        while work is not None:
            if not work.withdrawn:
                await self._run(work)
            lane.running.remove(work)
            work = lane.take_next()
            self._begin(key, lane)  # whatever may run beside it
        if not lane.running:
            del self._lanes[key]
            if not self._lanes and self._emptied is not None and not self._emptied.done():
                self._emptied.set_result(None)
