"""What the workers under test work on, and what survives each of them."""

from __future__ import annotations

from collections import Counter

from beam_agents.effector.backends.memory_log import MemoryTopic
from beam_agents.effector.ports import DedupStore
from beam_agents.effector.testing.quiet import Quiet, Waiting
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.effector.testing.worker import Worker


class World:
    """The time, the store, the topics that are written to, and the workers.

    Attributes:
        calls: How often each tool was called, by any worker.
        workers: Those that live, or are not buried yet.
        down: Names the ports that are out of order.
    """

    def __init__(self, store: DedupStore, clock: SteppedClock) -> None:
        self.clock = clock
        self.store = store
        self.results = MemoryTopic("results", clock=clock)
        self.approvals = MemoryTopic("approvals", clock=clock)
        self.dead_letters = MemoryTopic("dead-letters", clock=clock)
        self.calls: Counter[str] = Counter()
        self.workers: list[Worker] = []
        self.down: set[str] = set()
        self._quiet = Quiet(self._waiting, self._moves)

    async def settle(self, *, untouched: bool = False) -> None:
        """Return when nothing moves without time passing, and bury the dead.

        Args:
            untouched: See `Quiet.settle`.

        Raises:
            Exception: Whatever made a worker fail.
        """
        while True:
            await self._quiet.settle(untouched=untouched)
            dead = [each for each in self.workers if not each.alive]
            if not dead:
                return
            for each in dead:
                await each.bury()

    def _waiting(self) -> Waiting:
        return Waiting(
            calls=sum(each.line.in_flight for each in self.workers if each.line.alive),
            tools=sum(each.running_tools for each in self.workers),
            invocations=self.calls.total(),
        )

    def _moves(self) -> int:
        return sum(each.probe.moves + each.line.calls for each in self.workers)
