"""`sqlite:///file.db?topic=…`: intents from a consumer group of the embedded bus."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from beam_agents.effector.backends.sqlite_bus import BusThread
from beam_agents.effector.errors import EffectorError
from beam_agents.effector.offsets import ContiguousOffsets
from beam_agents.effector.ports import Delivery
from beam_agents.embedded import (
    DEFAULT_LEASE_MS,
    BusConsumer,
    BusUnavailable,
    ConsumerFenced,
    Record,
)

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")

_POLL_MS = 50
_RETRY_S = 1.0


class SqliteSource:
    """Reads one topic as a member of a group: as its owner, or as a hot standby.

    The lease on the group is kept by a task of its own, so that a worker which does
    not fetch, since its tools have enough to do, keeps it too.

    Args:
        path: The file of the bus.
        topic: The topic, which is one partition.
        group: The consumer group.
        lease_ms: After how long without a sign of life another member takes over.
        max_batch: How many records one fetch may give.
    """

    def __init__(
        self,
        path: str,
        topic: str,
        *,
        group: str,
        lease_ms: int = DEFAULT_LEASE_MS,
        max_batch: int = 500,
    ) -> None:
        self._thread = BusThread(path)
        self._topic = topic
        self._group = group
        self._lease_ms = lease_ms
        self._max_batch = max_batch
        self._partition = f"{topic}/0"
        self._offsets = ContiguousOffsets()
        self._generation: int | None = None
        self._unpaused = asyncio.Event()
        self._consumer: BusConsumer | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._on_lost: Callable[[Collection[str]], None] = lambda _: None
        self._polled: asyncio.Future[tuple[int | None, list[Record]]] | None = None

    async def open(self, on_lost: Callable[[Collection[str]], None]) -> None:
        """Open the file and join the group.

        Raises:
            BackendUnavailable: The file cannot be used.
        """
        await self._thread.open()
        self._on_lost = on_lost
        self._consumer = self._thread.bus.consumer(
            self._group, self._topic, lease_ms=self._lease_ms
        )
        self._unpaused.set()
        self._keeper = asyncio.ensure_future(self._keep_lease())
        # Should it end, a fetch that waits for a pause to end must see it.
        self._keeper.add_done_callback(lambda _: self._unpaused.set())

    async def fetch(self) -> Sequence[Delivery]:
        """Wait for at least one delivery. May be cancelled without losing any."""
        while True:
            await self._unpaused.wait()
            if self._keeper is not None and self._keeper.done():
                self._keeper.result()
            # What was polled is kept until it is handed out, whoever is cancelled meanwhile.
            if self._polled is None:
                self._polled = asyncio.ensure_future(self._poll())
            generation, records = await asyncio.shield(self._polled)
            if self._unpaused.is_set():
                self._polled = None
                if records and generation == self._generation:
                    return [self._hand_out(record) for record in records]

    def done(self, delivery: Delivery) -> None:
        """Take a delivery back as finished. A no-op for a partition that was lost."""
        self._offsets.done(delivery.partition, delivery.offset, delivery.epoch)

    def pause(self, partition: str) -> None:
        """Hand out no more of the topic until it is resumed, or won anew."""
        if partition in self._offsets.partitions:
            self._unpaused.clear()

    def resume(self, partition: str) -> None:
        """Hand the topic out again."""
        if partition in self._offsets.partitions:
            self._unpaused.set()

    async def commit(self) -> None:
        """Make durable what is contiguously done; nothing, if the group was lost.

        While the file cannot be written, the next commit tries again.
        """
        positions = self._offsets.committable()
        if not positions:
            return
        [position] = positions
        try:
            await self._call(partial(self._member().commit, position.next_offset))
        except ConsumerFenced as error:
            _LOG.warning("offsets not committed: %s", error)
            self._observe(None)
        except BusUnavailable as error:
            _LOG.warning("offsets not committed yet: %s", error)
        else:
            self._offsets.committed(positions)

    async def lag(self) -> Mapping[str, int]:
        """Count the records from the first unfinished one on; nothing while we stand by."""
        bus = self._thread.bus
        committed, end = await self._thread.call(
            lambda: (bus.committed(self._group, self._topic), bus.end_offset(self._topic))
        )
        if self._partition not in self._offsets.partitions:
            return {}
        first = self._offsets.first_unfinished(self._partition)
        return {self._partition: end - (committed if first is None else first)}

    async def check(self) -> None:
        """Raise what keeps the file from being read, if anything does."""
        await self._thread.call(partial(self._thread.bus.end_offset, self._topic))

    async def aclose(self) -> None:
        """Commit once more, and hand the group over at once."""
        if self._consumer is None:
            return
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        try:
            if self._polled is not None:
                await self._polled
            await self.commit()
            await self._thread.call(self._consumer.close)
        except (EffectorError, BusUnavailable) as error:
            _LOG.warning("group %r is left without a word: %s", self._group, error)
        finally:
            await self._thread.aclose()
            self._consumer = None

    async def _keep_lease(self) -> None:
        while True:
            try:
                await self._call(self._member().heartbeat)
            except BusUnavailable as error:
                _LOG.warning("the lease on group %r is not renewed: %s", self._group, error)
            await asyncio.sleep(self._lease_ms / 4000)

    async def _poll(self) -> tuple[int | None, list[Record]]:
        poll = partial(self._member().poll, self._max_batch, timeout_ms=_POLL_MS)
        try:
            records = await self._call(poll)
        except BusUnavailable as error:
            _LOG.warning("topic %r cannot be read: %s", self._topic, error)
            await asyncio.sleep(_RETRY_S)
            return None, []
        return self._generation, records

    async def _call(self, work: Callable[[], _T]) -> _T:
        """Do something with the consumer on its thread, and notice who owns the group then."""
        consumer = self._member()
        answer, generation = await self._thread.call(lambda: (work(), consumer.generation))
        self._observe(generation)
        return answer

    def _observe(self, generation: int | None) -> None:
        if generation == self._generation:
            return
        lost = self._generation is not None
        self._generation = generation
        self._offsets.revoke(self._partition)
        self._unpaused.set()
        if lost:
            self._on_lost([self._partition])
        if generation is not None:
            self._offsets.assign(self._partition)

    def _hand_out(self, record: Record) -> Delivery:
        return Delivery(
            partition=self._partition,
            offset=record.offset,
            key=record.key,
            value=record.value,
            headers=record.headers,
            timestamp_ms=record.timestamp_ms,
            epoch=self._offsets.hand_out(self._partition, record.offset),
        )

    def _member(self) -> BusConsumer:
        if self._consumer is None:
            raise RuntimeError("the source is not open")
        return self._consumer
