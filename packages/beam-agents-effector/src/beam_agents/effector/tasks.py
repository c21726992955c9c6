"""The tasks of one service: a task that dies is heard of, and none outlives the service."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any, TypeVar

from beam_agents.effector.hosting import hosted

_T = TypeVar("_T")

# A task that does not end when it is cancelled is left alone after this long.
_CANCEL_S = 5.0


class Tasks:
    """Starts tasks, and fails as soon as one of them does.

    A service that goes on without one of its parts hangs in silence, so whoever
    waits here for anything hears of the first failure instead.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def start(self, coroutine: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        """Start a task."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def start_hosting(self, engine: Coroutine[Any, Any, None]) -> None:
        """Start a task in which tools may begin; see `hosting.py`."""
        self.start(hosted(engine, self._move))

    def _move(self, engine: Coroutine[Any, Any, None]) -> None:
        """Go on in another task: the present one is a tool's, and we hear of it no more."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - it is what moves
        self._let_go(task)
        self.start_hosting(engine)

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
        self._let_go(task)
        await self._cancel({task})

    async def end_all(self, *, but: Collection[asyncio.Task[None]] = ()) -> None:
        """Cancel every other task; what they raise now is of no interest."""
        for task in self._tasks:
            task.remove_done_callback(self._ended)
        ended, self._tasks = self._tasks.difference(but), set(but)
        await self._cancel(ended)
        if not self._failed.cancel() and not self._failed.cancelled():
            self._failed.exception()  # heard of, or too late to matter

    def _let_go(self, task: asyncio.Task[Any]) -> None:
        task.remove_done_callback(self._ended)
        self._tasks.discard(task)

    @staticmethod
    async def _cancel(tasks: Collection[asyncio.Task[Any]]) -> None:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CANCEL_S)
        for task in tasks:
            if task.done():
                _error(task)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = _error(task)
        if error is not None and not self._failed.done():
            self._failed.set_exception(error)


def _error(task: asyncio.Task[Any]) -> BaseException | None:
    """Return why a task failed; asking for it also keeps asyncio from reporting it."""
    if task.cancelled():
        return RuntimeError(f"{task} was cancelled by something else")
    return task.exception()
