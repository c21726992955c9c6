"""`sqlite:///file.db?topic=…`: looks through a topic of the embedded bus."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from beam_agents.effector.backends.sqlite_bus import BusThread
from beam_agents.effector.errors import TopicMissing
from beam_agents.effector.ports import Delivery

_PAGE = 500


class SqliteBrowser:
    """Reads one topic from its beginning.

    Args:
        path: The file of the bus; it is not made by looking.
        topic: The topic; one without a record is empty, not missing.
    """

    def __init__(self, path: str, topic: str) -> None:
        self._path = path
        self._topic = topic
        self._thread = BusThread(path)
        self._end = 0

    async def open(self) -> None:
        """Open the file, and note where the topic ends now.

        Raises:
            TopicMissing: There is no such file.
            BackendUnavailable: It cannot be used.
        """
        if not await self._thread.call(Path(self._path).exists):
            raise TopicMissing(f"there is no bus {self._path!r}")
        await self._thread.open()
        self._end = await self._thread.call(partial(self._thread.bus.end_offset, self._topic))

    @property
    def extent(self) -> int:
        """How many records there are."""
        return self._end

    async def records(self) -> AsyncIterator[Delivery]:
        """Yield the records in order."""
        start = 0
        while start < self._end:
            limit = min(_PAGE, self._end - start)
            page = await self._thread.call(
                partial(self._thread.bus.records, self._topic, start=start, limit=limit)
            )
            for each in page:
                yield Delivery(
                    f"{self._topic}/0",
                    each.offset,
                    each.key,
                    each.value,
                    each.headers,
                    each.timestamp_ms,
                )
            start += limit

    async def aclose(self) -> None:
        """Close the file."""
        await self._thread.aclose()
