"""The thread on which a process's Kafka clients live.

Not the one of the agents: an agent that blocks must not keep the broker waiting. It
outlives readers and writers, which some runners make anew for each bundle.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Begin a coroutine on the thread's event loop."""
    return asyncio.run_coroutine_threadsafe(coroutine, _running_loop())


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine there, and block until it is done."""
    future = submit(coroutine)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop, _thread
    with _lock:
        # A forked child inherits the variables, but not the thread.
        if _loop is None or _thread is None or not _thread.is_alive():
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(
                target=_loop.run_forever, name="beam-agents-kafka", daemon=True
            )
            _thread.start()
        return _loop
