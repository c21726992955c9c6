"""The tasks of one service: a task that dies is heard of, and none outlives the service."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any

# A task that does not end when it is cancelled is left alone after this long.
_CANCEL_S = 5.0


class Tasks:
    """Starts tasks, and fails as soon as one of them does.

    A service that goes on without one of its parts hangs in silence, so whoever
    waits here for anything hears of the first failure instead.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def start(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def first(self, *coroutines: Coroutine[Any, Any, object]) -> None:
        """Wait until one of the coroutines ends, and cancel the others.

        Raises:
            BaseException: What one of them, or the first task that failed, has raised.
        """
        waiting: set[asyncio.Future[Any]] = {
            asyncio.ensure_future(coroutine) for coroutine in coroutines
        }
        try:
            done, _ = await asyncio.wait(
                waiting | {self._failed}, return_when=asyncio.FIRST_COMPLETED
            )
            for future in done:
                future.result()
        finally:
            for future in waiting:
                future.cancel()

    async def end(self, task: asyncio.Task[None]) -> None:
        """Cancel one task that has done its part."""
        task.remove_done_callback(self._ended)
        self._tasks.discard(task)
        await self._cancel({task})

    async def end_all(self, *, but: Collection[asyncio.Task[None]] = ()) -> None:
        """Cancel every other task; what they raise now is of no interest."""
        for task in self._tasks:
            task.remove_done_callback(self._ended)
        ended, self._tasks = self._tasks.difference(but), set(but)
        await self._cancel(ended)
        if not self._failed.cancel() and not self._failed.cancelled():
            self._failed.exception()  # heard of, or too late to matter

    @staticmethod
    async def _cancel(tasks: Collection[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CANCEL_S)
        for task in tasks:
            if task.done():
                _error(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = _error(task)
        if error is not None and not self._failed.done():
            self._failed.set_exception(error)


def _error(task: asyncio.Task[None]) -> BaseException | None:
    """Return why a task failed; asking for it also keeps asyncio from reporting it."""
    if task.cancelled():
        return RuntimeError(f"{task} was cancelled by something else")
    return task.exception()
