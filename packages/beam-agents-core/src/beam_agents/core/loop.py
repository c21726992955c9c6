"""The event loop of a worker process: one thread on which every agent function runs.

A thread of its own, since the bundle's thread may run a loop already (notebooks),
and since Beam's state and timers belong to the bundle's thread alone. It outlives
DoFns, which some runners make anew for each bundle, and so do model clients on it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from beam_agents.core.stalls import Stall, stalls_until

T = TypeVar("T")

_log = logging.getLogger(__name__)

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None


def run(coroutine: Coroutine[Any, Any, T], on_stall: Callable[[Stall], None] | None = None) -> T:
    """Run a coroutine on the process's loop, and block until it is done; see `wait_for`."""
    return wait_for(submit(coroutine), on_stall)


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Begin a coroutine on the process's loop; cancelling the future cancels it there."""
    loop, _ = _running_loop()
    return asyncio.run_coroutine_threadsafe(coroutine, loop)


def wait_for(future: Future[T], on_stall: Callable[[Stall], None] | None = None) -> T:
    """Block until what was submitted is done, and return or raise as it did.

    Args:
        future: From `submit`.
        on_stall: Called on this thread while the loop stands still.
    """
    loop, thread = _running_loop()
    try:
        if on_stall is not None:
            for stall in stalls_until(future, loop, thread):
                on_stall(stall)
        return future.result()
    except BaseException:
        future.cancel()  # an interrupted bundle leaves nothing running behind
        raise


def _running_loop() -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    global _loop, _thread
    with _lock:
        # A forked child inherits the variables, but not the thread.
        if _loop is None or _thread is None or not _thread.is_alive():
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(
                target=_turn, args=(_loop,), name="beam-agents-activations", daemon=True
            )
            _thread.start()
        return _loop, _thread


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    """Keep the loop turning, for all keys, whatever one agent's stray task does to it."""
    while not loop.is_closed():
        try:
            loop.run_forever()
        # asyncio lets a task's SystemExit end the whole loop.
        except BaseException as error:
            _log.error("a task that an agent left behind raised %r; the others go on", error)
