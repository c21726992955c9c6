"""What binds a worker to the world, and can be cut: then none of its calls arrives any more."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection
from typing import Any, TypeVar, cast

_Port = TypeVar("_Port")


class Lifeline:
    """Whether a worker lives, and what it has asked of the world.

    Attributes:
        alive: Cleared once, by `cut`.
        in_flight: Calls that the world has not answered yet.
        calls: Calls that were ever made.
    """

    def __init__(self) -> None:
        self.alive = True
        self.in_flight = 0
        self.calls = 0

    def cut(self) -> None:
        """Kill the worker, as SIGKILL does: no call of it does anything from now on."""
        self.alive = False

    def bind(self, protocol: type[_Port], port: _Port, *, inert: Collection[str] = ()) -> _Port:
        """Return the port as the worker sees it: once the line is cut, its calls hang.

        Args:
            protocol: Says which methods are async.
            port: The port that outlives the worker.
            inert: Methods that do nothing for the worker.
        """
        return cast("_Port", _Bound(self, protocol, port, inert))

    async def call(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Pass a call on; neither a call nor an answer passes a cut line."""
        await self._while_alive()
        self.calls += 1
        waits = method.__name__ == "fetch"  # for records, which is no business of ours
        self.in_flight += not waits
        try:
            answer = await method(*args, **kwargs)
        finally:
            self.in_flight -= not waits
        await self._while_alive()
        return answer

    async def _while_alive(self) -> None:
        if not self.alive:
            await asyncio.get_running_loop().create_future()


class _Bound:
    """A port behind a lifeline."""

    def __init__(
        self, line: Lifeline, protocol: type[object], port: object, inert: Collection[str]
    ) -> None:
        self._line = line
        self._protocol = protocol
        self._port = port
        self._inert = inert

    def __getattr__(self, name: str) -> Callable[..., Any]:
        line, method = self._line, getattr(self._port, name)
        if not inspect.iscoroutinefunction(getattr(self._protocol, name)):
            return lambda *args: method(*args) if line.alive else None
        if name in self._inert:
            return _nothing

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await line.call(method, *args, **kwargs)

        return call


async def _nothing() -> None:
    """Stand for opening and closing what belongs to the harness."""
