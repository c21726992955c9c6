"""Calls made in the same turn of the event loop, carried out together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from beam_agents.effector.ports import StoreUnavailable

_Call = TypeVar("_Call")


class TurnBatch(Generic[_Call]):
    """Collects calls until the loop's next turn, then hands all of them to `carry_out`.

    While as many batches are under way as `in_flight` allows, later calls gather
    for the next one: batches grow as the store slows down.

    Args:
        carry_out: Answers each call of a batch, in order. An answer that is an
            exception is raised to that one caller, an exception that `carry_out`
            raises to all of them.
        in_flight: How many batches may be under way at once.
    """

    def __init__(
        self,
        carry_out: Callable[[list[_Call]], Awaitable[Sequence[object]]],
        *,
        in_flight: int = 1,
    ) -> None:
        self._carry_out = carry_out
        self._in_flight = in_flight
        self._waiting: list[tuple[_Call, asyncio.Future[Any]]] = []
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False

    def submit(self, call: _Call) -> asyncio.Future[Any]:
        """Add a call to this turn's batch; the future gets its answer."""
        if self._closed:
            raise StoreUnavailable("the dedup store is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._start)
        self._waiting.append((call, future))
        return future

    async def aclose(self) -> None:
        """Refuse further calls, and wait for those that were made."""
        self._closed = True
        self._start()
        while self._running:
            await asyncio.wait(self._running)

    def _start(self) -> None:
        if not self._waiting or len(self._running) >= self._in_flight:
            return
        batch, self._waiting = self._waiting, []
        task = asyncio.get_running_loop().create_task(self._run(batch))
        self._running.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._start()

    async def _run(self, batch: list[tuple[_Call, asyncio.Future[Any]]]) -> None:
        answers: Sequence[object]
        try:
            answers = await self._carry_out([call for call, _ in batch])
        except Exception as error:
            answers = [error] * len(batch)
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.done():  # its caller was cancelled
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
