"""What binds a worker to the world, and can be cut: then none of its calls arrives any more."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, TypeVar, cast

_Port = TypeVar("_Port")

# A worker starts and ends whatever is out of order: outages are of what runs.
_EVER = ("open", "aclose")


class Lifeline:
    """Whether a worker lives, and what it has asked of the world.

    Args:
        down: Names the ports that are out of order now.

    Attributes:
        alive: Cleared once, by `cut`.
        in_flight: Calls that the world has not answered yet.
        calls: Calls that were ever made.
    """

    def __init__(self, down: Collection[str]) -> None:
        self._down = down
        self.alive = True
        self.in_flight = 0
        self.calls = 0

    def cut(self) -> None:
        """Kill the worker, as SIGKILL does: no call of it does anything from now on."""
        self.alive = False

    def bind(
        self,
        name: str,
        protocol: type[_Port],
        port: _Port,
        *,
        error: type[Exception] = ConnectionError,
        inert: Collection[str] = (),
    ) -> _Port:
        """Return the port as the worker sees it: once the line is cut, its calls hang.

        Args:
            name: What `down` calls the port.
            protocol: Says which methods are async.
            port: The port that outlives the worker.
            error: What its calls raise while it is out of order.
            inert: Methods that do nothing for the worker.
        """
        return cast("_Port", _Bound(self, name, protocol, port, error, inert))

    async def call(
        self, name: str, error: type[Exception], method: Callable[..., Any], *args: Any, **kw: Any
    ) -> Any:
        """Pass a call on; neither a call nor an answer passes a cut line."""
        await self._while_alive()
        self.calls += 1
        if name in self._down and method.__name__ not in _EVER:
            raise error(f"{name}: out of order, as the test has it")
        waits = method.__name__ == "fetch"  # for records, which is no business of ours
        self.in_flight += not waits
        try:
            answer = await method(*args, **kw)
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
        self,
        line: Lifeline,
        name: str,
        protocol: type[object],
        port: object,
        error: type[Exception],
        inert: Collection[str],
    ) -> None:
        self._line = line
        self._name = name
        self._protocol = protocol
        self._port = port
        self._error = error
        self._inert = inert

    def __getattr__(self, name: str) -> Callable[..., Any]:
        line, method = self._line, getattr(self._port, name)
        if not inspect.iscoroutinefunction(getattr(self._protocol, name)):
            return lambda *args: method(*args) if line.alive else None
        if name in self._inert:
            return _nothing
        return partial(line.call, self._name, self._error, method)


async def _nothing() -> None:
    """Stand for opening and closing what belongs to the harness."""
