"""Tells when nothing moves any more without time passing."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

# What waits for something real (a socket, a thread) is given this long to go on.
_TOOL_WINDOW_S = 0.02
_THREAD_WINDOW_S = 0.1
_CALL_WINDOW_S = 0.5
_POLL_S = 0.001

# Where a loop does not show its queue: more turns than any chain of callbacks of ours.
_TURNS = 500


@dataclass(frozen=True, slots=True)
class Waiting:
    """What may wait for something real: a thread, a socket.

    Attributes:
        calls: Calls to ports that are not answered yet.
        tools: Tools that run.
        invocations: How many tools were ever called.
    """

    calls: int
    tools: int
    invocations: int

    def window_s(self, *, threads: bool) -> float:
        """Say how long to watch for movement."""
        if self.calls:
            return _CALL_WINDOW_S
        if self.tools:
            return _THREAD_WINDOW_S if threads else _TOOL_WINDOW_S
        return 0.0


async def let_callbacks_run() -> None:
    """Run the loop until no callback is ready."""
    ready = getattr(asyncio.get_running_loop(), "_ready", None)
    if ready is None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
    else:
        # The queue is looked at from within the last callback of a turn, so what is
        # in it then was made ready by this turn, or by a thread.
        await asyncio.sleep(0)
        while ready:  # noqa: ASYNC110 - there is no event for an empty queue
            await asyncio.sleep(0)


class Quiet:
    """Watches a world until it is quiet.

    Args:
        waiting: Whatever may wait for something real: the calls to ports that are not
            answered yet, the tools that run, and how many tools were ever called.
        moves: Grows with whatever happens.
    """

    def __init__(self, waiting: Callable[[], Waiting], moves: Callable[[], int]) -> None:
        self._waiting = waiting
        self._moves = moves
        self._still: tuple[Waiting, dict[int, float]] | None = None

    async def settle(self, *, untouched: bool = False) -> None:
        """Return when nothing moves without time passing.

        Args:
            untouched: Nobody but the clock has done anything since the last time, so
                what was found still then is not watched again.
        """
        await let_callbacks_run()
        if untouched and self._still == (self._waiting(), _tool_threads_cpu_s()):
            return
        while await self._moves_soon():
            pass
        self._still = self._waiting(), _tool_threads_cpu_s()

    async def _moves_soon(self) -> bool:
        """Watch what may wait for something real; True as soon as something got anywhere."""
        waiting, moves, used_s = self._waiting(), self._moves(), _tool_threads_cpu_s()
        window_s = waiting.window_s(threads=bool(used_s))
        still_since = time.monotonic()
        while time.monotonic() - still_since < window_s:
            await asyncio.sleep(_POLL_S)
            await let_callbacks_run()
            if (self._waiting(), self._moves()) != (waiting, moves):
                return True
            now_used_s = _tool_threads_cpu_s()
            if now_used_s != used_s:  # a thread computes
                used_s, still_since = now_used_s, time.monotonic()
        return False


def _tool_threads_cpu_s() -> dict[int, float]:
    """Return the CPU time of each tool thread that has not ended."""
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    used_s = {}
    for thread in threading.enumerate():
        if thread.name.startswith("beam-agents-tool-") and thread.ident is not None:
            used_s[thread.ident] = time.clock_gettime(clock_of(thread.ident)) if clock_of else 0.0
    return used_s
