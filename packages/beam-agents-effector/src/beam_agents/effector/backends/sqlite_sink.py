"""`sqlite:///file.db?topic=…`: records into a topic of the embedded bus."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from beam_agents.effector.backends.sqlite_bus import BusThread
from beam_agents.effector.backends.turn_batch import TurnBatch
from beam_agents.effector.ports import Headers, SinkUnavailable
from beam_agents.embedded import BusUnavailable, NewRecord


class SqliteSink:
    """Appends to one topic. The records of one turn of the event loop share a write to disk.

    Args:
        path: The file of the bus.
        topic: The topic; made by its first record.
    """

    def __init__(self, path: str, topic: str) -> None:
        self._thread = BusThread(path)
        self._topic = topic
        self._batch: TurnBatch[NewRecord] = TurnBatch(self._append)

    async def open(self) -> None:
        """Open the file.

        Raises:
            BackendUnavailable: It cannot be used.
        """
        await self._thread.open()

    async def publish(self, *, key: bytes, value: bytes, headers: Headers = ()) -> None:
        """Return once the record is durable.

        Raises:
            SinkUnavailable: The file cannot be written now.
        """
        await self._batch.submit(NewRecord(key, value, headers))

    async def check(self) -> None:
        """Raise what keeps the file from being used, if anything does."""
        try:
            await self._thread.call(partial(self._thread.bus.end_offset, self._topic))
        except BusUnavailable as error:
            raise SinkUnavailable(str(error)) from error

    async def aclose(self) -> None:
        """Finish what was published, and close the file."""
        await self._batch.aclose()
        await self._thread.aclose()

    async def _append(self, records: list[NewRecord]) -> Sequence[int]:
        try:
            return await self._thread.call(
                partial(self._thread.bus.publish_all, self._topic, records)
            )
        except BusUnavailable as error:
            raise SinkUnavailable(str(error)) from error
