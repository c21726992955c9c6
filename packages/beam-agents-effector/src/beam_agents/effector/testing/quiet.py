"""Tells when nothing moves any more without time passing."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

# What waits for something real (a socket, a thread) is given this long to go on.
_TOOL_WINDOW_S = 0.02
_THREAD_WINDOW_S = 0.1
_CALL_WINDOW_S = 0.5
_POLL_S = 0.001

# Where a loop does not show its queue: more turns than any chain of callbacks of ours.
_TURNS = 500


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


async def until_quiet(
    *, calls: Callable[[], int], tools: Callable[[], int], moves: Callable[[], int]
) -> None:
    """Return when nothing moves without time passing.

    Args:
        calls: Counts the calls to ports that are not answered yet.
        tools: Counts the tools that run.
        moves: Grows with whatever happens.
    """
    await let_callbacks_run()
    while await _moves_soon(calls, tools, moves):
        pass


async def _moves_soon(
    calls: Callable[[], int], tools: Callable[[], int], moves: Callable[[], int]
) -> bool:
    """Watch what may wait for something real; True as soon as something got anywhere."""
    before, used_s = (calls(), tools(), moves()), _tool_threads_cpu_s()
    window_s = 0.0
    if tools():
        window_s = _THREAD_WINDOW_S if used_s else _TOOL_WINDOW_S
    if calls():
        window_s = _CALL_WINDOW_S
    still_since = time.monotonic()
    while time.monotonic() - still_since < window_s:
        await asyncio.sleep(_POLL_S)
        await let_callbacks_run()
        if (calls(), tools(), moves()) != before:
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
