"""`kafka://`: intents from a consumer group, committed by hand and contiguously."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from beam_agents.effector.backends.kafka_connection import ANSWER_TIMEOUT_S, connected_arguments
from beam_agents.effector.errors import BackendUnavailable, EffectorError
from beam_agents.effector.offsets import ContiguousOffsets
from beam_agents.effector.ports import Delivery
from beam_agents.kafka import KafkaSecurity

_LOG = logging.getLogger(__name__)

KAFKA_SESSION_TIMEOUT_MS = 10_000
_WAIT_MS = 1_000
# A worker that waits for its tools, or for a stuck sink, does not fetch, and is alive all
# the same. The heartbeat proves it: it runs on the event loop that does the work.
_NO_POLL_LIMIT_MS = 2**31 - 1


class KafkaSource:
    """Reads one topic as a member of a consumer group.

    A rebalance takes all partitions away and gives some back (the eager protocol);
    those are read again from what was committed, under another epoch.

    Args:
        hosts: `host:port` of some brokers.
        topic: The topic; must exist.
        group: The consumer group.
        security: How to log in, and whom to trust.
        session_timeout_ms: After how long without a heartbeat others take over.
        max_batch: How many records one fetch may give.
    """

    def __init__(
        self,
        hosts: Sequence[str],
        topic: str,
        *,
        group: str,
        security: KafkaSecurity | None = None,
        session_timeout_ms: int = KAFKA_SESSION_TIMEOUT_MS,
        max_batch: int = 500,
    ) -> None:
        self._hosts = hosts
        self._topic = topic
        self._group = group
        self._security = security or KafkaSecurity()
        self._session_timeout_ms = session_timeout_ms
        self._max_batch = max_batch
        self._offsets = ContiguousOffsets()
        self._consumer: AIOKafkaConsumer | None = None

    async def open(self, on_lost: Callable[[Collection[str]], None]) -> None:
        """Check the broker and the topic, and ask to join the group.

        Raises:
            BackendUnavailable: No broker lets us in.
            TopicMissing: There is no such topic.
        """
        arguments = await connected_arguments(self._hosts, self._topic, self._security)
        # A rebalance holds back the answer to a request for as long as a session lasts.
        patience_ms = max(arguments["request_timeout_ms"], 2 * self._session_timeout_ms)
        arguments["request_timeout_ms"] = patience_ms
        consumer = AIOKafkaConsumer(
            **arguments,
            group_id=self._group,
            enable_auto_commit=False,
            # A new group, or one that was away for longer than the topic remembers,
            # must not skip what nobody has handled.
            auto_offset_reset="earliest",
            # No effect for what an aborted transaction of a pipeline wrote.
            isolation_level="read_committed",
            session_timeout_ms=self._session_timeout_ms,
            heartbeat_interval_ms=self._session_timeout_ms // 3,
            max_poll_interval_ms=_NO_POLL_LIMIT_MS,
        )
        try:
            await consumer.start()
        except KafkaError as error:
            await consumer.stop()
            raise self._closed_to_us("read", error) from error
        consumer.subscribe([self._topic], listener=_Rebalances(self, on_lost))
        self._consumer = consumer

    async def fetch(self) -> Sequence[Delivery]:
        """Wait for at least one delivery, and for the broker. May be cancelled without losing any.

        Raises:
            EffectorError: The group or the topic is closed to us; trying again is of no use.
        """
        consumer = self._opened()
        while True:
            try:
                # aiokafka takes records out of its buffer in the step that returns them.
                batches = await consumer.getmany(timeout_ms=_WAIT_MS, max_records=self._max_batch)
            except KafkaError as error:
                raise self._closed_to_us("read", error) from error
            if batches:
                return [
                    self._hand_out(record) for records in batches.values() for record in records
                ]

    def done(self, delivery: Delivery) -> None:
        """Take a delivery back as finished. A no-op for a partition that was lost."""
        self._offsets.done(delivery.partition, delivery.offset, delivery.epoch)

    def pause(self, partition: str) -> None:
        """Hand out no more of this partition until it is resumed, or assigned anew."""
        if partition in self._offsets.partitions:
            self._opened().pause(_parse(partition))

    def resume(self, partition: str) -> None:
        """Hand this partition out again."""
        if partition in self._offsets.partitions:
            self._opened().resume(_parse(partition))

    async def commit(self) -> None:
        """Make durable what is contiguously done. Partitions that were lost are left out.

        Where the group rebalances meanwhile, nothing is lost: whoever has the
        partition then reads again what was not committed.

        Raises:
            BackendUnavailable: The broker does not answer; commit again.
            EffectorError: The group or the topic is closed to us.
        """
        positions = self._offsets.committable()
        if not positions:
            return
        offsets = {_parse(each.partition): each.next_offset for each in positions}
        try:
            await asyncio.wait_for(self._opened().commit(offsets), ANSWER_TIMEOUT_S)
        except (CommitFailedError, IllegalStateError) as error:
            _LOG.info("offsets not committed, the group rebalances: %s", error)
        except asyncio.TimeoutError as error:
            raise BackendUnavailable(f"no broker takes the offsets of {self._topic!r}") from error
        except KafkaError as error:
            raise self._closed_to_us("commit", error) from error
        else:
            self._offsets.committed(positions)

    async def lag(self) -> Mapping[str, int]:
        """Tell how far the end of each partition of ours is from its first unfinished record.

        Offsets, not records: the marks of transactions have theirs, too.
        """
        consumer = self._opened()
        ends = await asyncio.wait_for(
            consumer.end_offsets([_parse(name) for name in self._offsets.partitions]),
            ANSWER_TIMEOUT_S,
        )
        lag: dict[str, int] = {}
        for partition, end in ends.items():
            first = self._offsets.first_unfinished(_name(partition))
            if first is None and partition in consumer.assignment():
                first = await asyncio.wait_for(consumer.position(partition), ANSWER_TIMEOUT_S)
            if first is not None:
                lag[_name(partition)] = end - first
        return lag

    async def check(self) -> None:
        """Raise what keeps the topic from being read, if anything does."""
        await self._opened().topics()

    async def aclose(self) -> None:
        """Commit once more, and leave the group at once."""
        if self._consumer is None:
            return
        await self._commit_for_the_last_time()
        await self._consumer.stop()
        self._consumer = None

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """Begin to hand out these partitions."""
        names = sorted(_name(partition) for partition in partitions)
        for name in names:
            self._offsets.assign(name)
        _LOG.info("assigned partitions: %s", ", ".join(names) or "none")

    async def revoked(self, partitions: Iterable[TopicPartition]) -> list[str]:
        """Commit for the last time, then forget these partitions; return their names."""
        names = [_name(partition) for partition in partitions]
        await self._commit_for_the_last_time()
        for name in names:
            self._offsets.revoke(name)
        return names

    async def _commit_for_the_last_time(self) -> None:
        try:
            await self.commit()
        except EffectorError as error:
            _LOG.warning("the last offsets are not committed, and will be read again: %s", error)

    def _closed_to_us(self, verb: str, error: KafkaError) -> EffectorError:
        return EffectorError(
            f"group {self._group!r} cannot {verb} topic {self._topic!r}: {error!r}"
        )

    def _hand_out(self, record: ConsumerRecord) -> Delivery:
        partition = _name(TopicPartition(record.topic, record.partition))
        return Delivery(
            partition=partition,
            offset=record.offset,
            key=record.key,
            value=record.value,
            headers=tuple((name, value or b"") for name, value in record.headers),
            timestamp_ms=record.timestamp,
            epoch=self._offsets.hand_out(partition, record.offset),
        )

    def _opened(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise RuntimeError("the source is not open")
        return self._consumer


class _Rebalances(ConsumerRebalanceListener):  # type: ignore[misc]
    """Tells the source of what the group takes and gives."""

    def __init__(self, source: KafkaSource, on_lost: Callable[[Collection[str]], None]) -> None:
        self._source = source
        self._on_lost = on_lost

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        lost = await self._source.revoked(revoked)
        if lost:
            self._on_lost(lost)

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self._source.assigned(assigned)


def _name(partition: TopicPartition) -> str:
    return f"{partition.topic}/{partition.partition}"


def _parse(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("/")
    return TopicPartition(topic, int(number))
