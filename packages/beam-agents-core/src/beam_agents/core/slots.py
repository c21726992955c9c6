"""How many activations of an agent run at once: one count for all bundles of a process.

A worker holds several bundles at once, each on a thread of its own. What the limit
protects, such as a model's rate or the worker's memory, they share.
"""

from __future__ import annotations

import asyncio
import os
from types import TracebackType

# By process as well: a forked child inherits the counts, but not what was counted.
_of_agents: dict[tuple[int, str], Slots] = {}


class Slots:
    """As many activations as the limit says; the others wait in the order they came.

    Used on the activations' event loop only.

    Attributes:
        limit: How many.
    """

    __slots__ = ("_free", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._free = asyncio.Semaphore(limit)

    async def __aenter__(self) -> None:
        """Take a slot, or wait for one."""
        await self._free.acquire()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give it back."""
        self._free.release()


def slots_of(token: str, limit: int) -> Slots:
    """Return what the copies of one pipeline step share in this process.

    Args:
        token: Names the step.
        limit: Of its configuration, the same for all copies.
    """
    return _of_agents.setdefault((os.getpid(), token), Slots(limit))
