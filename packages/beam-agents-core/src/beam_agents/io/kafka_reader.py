"""`kafka://`: one partition of a topic, read without joining a group."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future
from contextlib import suppress

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from beam_agents.io import kafka_thread
from beam_agents.io.address import TopicAddress
from beam_agents.io.errors import TopicUnavailable
from beam_agents.io.kafka_access import client_arguments, cluster_id
from beam_agents.io.logs import Look
from beam_agents.io.records import InboundRecord

_LOG = logging.getLogger(__name__)
# How long a look waits for where it is, after the broker has thrown away what was to come.
_POSITION_S = 1.0
_RETRY_MS = 500
_CLOSE_S = 5.0


class KafkaReader:
    """Reads one partition; positions are the caller's, the group only hears of them.

    Args:
        address: The topic; `?group=` names the group that is told how far we got.
        partition: Which of its partitions.

    Raises:
        TopicUnavailable: The topic is not there, or nobody lets us read it.
    """

    def __init__(self, address: TopicAddress, partition: int) -> None:
        self._address = address
        self._partition = TopicPartition(address.uri.topic, partition)
        self._group = address.uri.params.get("group")
        self._telling: Future[None] | None = None
        self._told = self._to_tell = -1
        self._next_offset = -1
        self._consumer: AIOKafkaConsumer
        self._cluster_id = ""
        kafka_thread.run(self._open())

    @property
    def log_id(self) -> str:
        """Names the partition by its cluster's own id."""
        return f"kafka:{self._cluster_id}:{self._partition.topic}:{self._partition.partition}"

    def first_offset(self) -> int:
        """Return where to begin without a position: as far as the group got, or the start."""
        return kafka_thread.run(self._first_offset())

    def has_more(self, offset: int) -> bool:
        """Tell whether there is something to read from an offset on, as far as is known."""
        readable = self._consumer.last_stable_offset(self._partition)
        return readable is not None and readable > offset

    def look(self, offset: int, limit: int, now_ms: int) -> Look:
        """Take what has arrived from an offset on; the client fetches ahead by itself."""
        return kafka_thread.run(self._look(offset, limit, now_ms))

    def commit(self, next_offset: int) -> None:
        """Tell the group how far it got; what comes while it is being told is told next."""
        self._to_tell = next_offset
        if self._group is not None and (self._telling is None or self._telling.done()):
            self._telling = kafka_thread.submit(self._tell())

    def close(self) -> None:
        """Let go of the connection."""
        kafka_thread.run(self._close())

    async def _open(self) -> None:
        arguments = await client_arguments(self._address)
        self._consumer = AIOKafkaConsumer(
            **arguments,
            group_id=self._group,
            enable_auto_commit=False,
            # What the topic no longer holds cannot be read; what it does hold can.
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            # There is one client for each partition, and each has its say while the broker is away.
            retry_backoff_ms=_RETRY_MS,
        )
        try:
            await self._consumer.start()
            self._consumer.assign([self._partition])
            self._cluster_id = await cluster_id(arguments)
        except BaseException as error:
            await self._consumer.stop()
            if isinstance(error, KafkaError):
                raise self._unavailable(error) from error
            raise

    async def _close(self) -> None:
        if self._telling is not None:
            await asyncio.wait({asyncio.wrap_future(self._telling)}, timeout=_CLOSE_S)
        with suppress(asyncio.TimeoutError, KafkaError):
            await asyncio.wait_for(self._consumer.stop(), _CLOSE_S)

    async def _first_offset(self) -> int:
        try:
            committed = None
            if self._group is not None:
                committed = await self._consumer.committed(self._partition)
            if committed is not None:
                return int(committed)
            beginnings = await self._consumer.beginning_offsets([self._partition])
        except KafkaError as error:
            raise self._unavailable(error) from error
        return int(beginnings[self._partition])

    async def _look(self, offset: int, limit: int, now_ms: int) -> Look:
        try:
            if offset != self._next_offset:
                await self._seek(offset)
            batches = await self._consumer.getmany(self._partition, timeout_ms=0, max_records=limit)
            # Not the last record's: the log may end in what is no record for us.
            position = await asyncio.wait_for(self._consumer.position(self._partition), _POSITION_S)
        except asyncio.TimeoutError:
            return Look((), offset, None)
        except KafkaError as error:
            raise self._unavailable(error) from error
        if position < offset:
            raise TopicUnavailable(
                f"{str(self._address)!r} ends before offset {offset} of partition "
                f"{self._partition.partition}, up to which it was read: it was made anew, so "
                "begin with a new state and another namespace"
            )
        self._next_offset = position
        records = [self._inbound(each, now_ms) for each in batches.get(self._partition, ())]
        return Look(records, position, self._end_seen_ms(position))

    async def _seek(self, offset: int) -> None:
        beginnings = await self._consumer.beginning_offsets([self._partition])
        gone = beginnings[self._partition] - offset
        if gone > 0:
            _LOG.error("%s no longer holds %d records that were not read yet", self.log_id, gone)
        self._consumer.seek(self._partition, offset + max(0, gone))
        self._next_offset = offset

    def _end_seen_ms(self, position: int) -> int | None:
        end = self._consumer.highwater(self._partition)
        if end is None or position < end:
            return None
        seen_ms: int | None = self._consumer.last_poll_timestamp(self._partition)
        return seen_ms

    async def _tell(self) -> None:
        try:
            while self._told != (next_offset := self._to_tell):
                await self._consumer.commit({self._partition: next_offset})
                self._told = next_offset
        except KafkaError as error:
            _LOG.warning("group %r does not hear how far it got: %s", self._group, error)

    def _inbound(self, record: ConsumerRecord, now_ms: int) -> InboundRecord:
        return InboundRecord(
            key=record.key,
            value=record.value,
            headers=tuple((name, value or b"") for name, value in record.headers),
            timestamp_ms=record.timestamp,
            received_at_ms=now_ms,
            topic=record.topic,
            offset=record.offset,
            partition=record.partition,
        )

    def _unavailable(self, error: KafkaError) -> TopicUnavailable:
        return TopicUnavailable(f"cannot read {str(self._address)!r}: {error!r}")
