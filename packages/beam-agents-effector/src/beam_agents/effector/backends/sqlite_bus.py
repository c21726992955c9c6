"""An embedded bus for callers that must not block: it is used on one thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from beam_agents.effector.errors import BackendUnavailable, EffectorError, OperatorError
from beam_agents.embedded import BusError, BusReplaced, BusUnavailable, EmbeddedBus

_T = TypeVar("_T")


class BusThread:
    """A bus and its thread.

    Args:
        path: The file of the bus; made if it is missing, in a folder that is not.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-bus")
        self._bus: EmbeddedBus | None = None

    @property
    def bus(self) -> EmbeddedBus:
        """The bus, once it is open."""
        if self._bus is None:
            raise RuntimeError(f"the bus {self._path!r} is not open")
        return self._bus

    async def open(self) -> None:
        """Open the file.

        Raises:
            BackendUnavailable: It cannot be used now.
            OperatorError: It is no bus, or one of a newer release.
        """
        try:
            self._bus = await self.call(partial(EmbeddedBus, self._path))
        except BusUnavailable as error:
            raise BackendUnavailable(str(error)) from error
        except BusError as error:
            raise OperatorError(str(error)) from error

    async def call(self, work: Callable[[], _T]) -> _T:
        """Do something that blocks, after everything that was asked for before.

        Raises:
            EffectorError: The file was replaced, so that offsets of the old one mean nothing.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except BusReplaced as error:
            raise EffectorError(str(error)) from error

    async def aclose(self) -> None:
        """Finish what was asked for, and close the file."""
        if self._bus is not None:
            await self.call(self._bus.close)
            self._bus = None
        self._thread.shutdown(wait=False)
