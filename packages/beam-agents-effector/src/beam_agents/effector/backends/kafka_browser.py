"""`kafka://`: looks through a topic without joining a group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from beam_agents.effector.backends.kafka_connection import ANSWER_TIMEOUT_S, connected_arguments
from beam_agents.effector.errors import BackendUnavailable
from beam_agents.effector.ports import Delivery
from beam_agents.kafka import KafkaSecurity

_WAIT_MS = 1_000
# So many looks in a row that find nothing, though there is more: nobody answers, or a
# transaction that somebody left open hides the rest.
_SILENT_LOOKS = 10


class KafkaBrowser:
    """Reads all partitions of one topic from their beginnings.

    Args:
        hosts: `host:port` of some brokers.
        topic: The topic; must exist.
        security: How to log in, and whom to trust.
    """

    def __init__(
        self, hosts: Sequence[str], topic: str, *, security: KafkaSecurity | None = None
    ) -> None:
        self._hosts = hosts
        self._topic = topic
        self._security = security or KafkaSecurity()
        self._consumer: AIOKafkaConsumer | None = None
        self._starts: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}

    async def open(self) -> None:
        """Check the broker and the topic, and note where each partition ends now.

        Raises:
            BackendUnavailable: No broker lets us in, or none answers.
            TopicMissing: There is no such topic.
        """
        arguments = await connected_arguments(self._hosts, self._topic, self._security)
        consumer = AIOKafkaConsumer(
            self._topic,
            **arguments,
            group_id=None,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        )
        try:
            await consumer.start()
            self._consumer = consumer
            partitions = list(consumer.assignment())
            self._starts = await consumer.beginning_offsets(partitions)
            self._ends = await consumer.end_offsets(partitions)
        except KafkaError as error:
            await consumer.stop()
            raise BackendUnavailable(f"cannot look through {self._topic!r}: {error!r}") from error

    @property
    def extent(self) -> int:
        """How many offsets there are; compaction may have left holes."""
        return sum(self._ends.values()) - sum(self._starts.values())

    async def records(self) -> AsyncIterator[Delivery]:
        """Yield the records, in order within each partition.

        Raises:
            BackendUnavailable: The broker went away before the end was reached.
        """
        consumer = self._opened()
        for partition, start in self._starts.items():
            consumer.seek(partition, start)
        silent = 0
        while ahead := await self._ahead():
            try:
                batches = await consumer.getmany(*ahead, timeout_ms=_WAIT_MS)
            except KafkaError as error:
                raise BackendUnavailable(
                    f"cannot look through {self._topic!r}: {error!r}"
                ) from error
            silent = 0 if batches else silent + 1
            if silent == _SILENT_LOOKS:
                raise BackendUnavailable(
                    f"{self._topic!r} gives no more before its end: the broker is away, or a "
                    f"transaction is open"
                )
            for partition, records in batches.items():
                for record in records:
                    if record.offset < self._ends[partition]:
                        yield Delivery(
                            f"{record.topic}/{record.partition}",
                            record.offset,
                            record.key,
                            record.value,
                            tuple((name, value or b"") for name, value in record.headers),
                            record.timestamp,
                        )

    async def aclose(self) -> None:
        """Close the connections."""
        if self._consumer is not None:
            await self._consumer.stop()
            self._consumer = None

    async def _ahead(self) -> list[TopicPartition]:
        """List the partitions that have not been read to their end."""
        consumer = self._opened()
        return [
            partition
            for partition, end in self._ends.items()
            if self._starts[partition] < end
            and await asyncio.wait_for(consumer.position(partition), ANSWER_TIMEOUT_S) < end
        ]

    def _opened(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise RuntimeError("the browser is not open")
        return self._consumer
