"""Runs the process's event loop, which tools share: none of their tasks can end it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")

_LEAVE_S = 5.0


def run_to_end(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine as `asyncio.run` does, but to its end.

    A task that a tool left behind may raise `SystemExit`, which asyncio lets out of
    the loop, or stop the loop: the intents of everybody else would be delivered
    again, to end the next worker in the same way.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        task = loop.create_task(main)
        while True:
            try:
                return loop.run_until_complete(task)
            except (SystemExit, RuntimeError) as error:
                if task.done():
                    raise
                _LOG.error("a task that a tool left behind ended the loop (%r); going on", error)
    finally:
        _cancel_the_rest(loop)
        asyncio.set_event_loop(None)
        loop.close()


def _cancel_the_rest(loop: asyncio.AbstractEventLoop) -> None:
    rest = asyncio.all_tasks(loop)
    for task in rest:
        task.cancel()
    if rest:
        loop.run_until_complete(asyncio.wait(rest, timeout=_LEAVE_S))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
