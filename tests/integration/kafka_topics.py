"""Topics of a test on a real broker: made, written and read to their end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import GroupCoordinatorNotAvailableError, NotCoordinatorForGroupError

PARTITIONS = 4


@asynccontextmanager
async def admin_of(hosts: str) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=hosts)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def create_topics(hosts: str, *topics: str) -> None:
    async with admin_of(hosts) as admin:
        await admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in topics])


async def members_with_partitions(hosts: str, group: str) -> int:
    """How many members of a settled group have been given partitions; 0 while it rebalances."""
    async with admin_of(hosts) as admin:
        try:
            [response] = await admin.describe_consumer_groups([group])
        except (GroupCoordinatorNotAvailableError, NotCoordinatorForGroupError):
            return 0
    [(_, _, state, _, _, members, *_)] = response.groups
    return sum(1 for member in members if member[4]) if state == "Stable" else 0


async def publish(hosts: str, topic: str, records: Iterable[tuple[bytes, bytes]]) -> None:
    """Append keys and values, in order within a key."""
    async with AIOKafkaProducer(bootstrap_servers=hosts, acks="all") as producer:
        for key, value in records:
            await producer.send(topic, value, key=key)


async def uncommitted(hosts: str, group: str, topic: str) -> int:
    """How many records of a topic the group has not committed."""
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    async with AIOKafkaConsumer(bootstrap_servers=hosts, group_id=group) as consumer:
        ends = await consumer.end_offsets(partitions)
        return sum([ends[each] - (await consumer.committed(each) or 0) for each in partitions])


class TopicReader:
    """Reads a topic from its beginning, without a group."""

    def __init__(self, hosts: str, topic: str) -> None:
        self._partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=hosts, auto_offset_reset="earliest", enable_auto_commit=False
        )
        self.records: list[ConsumerRecord] = []

    async def __aenter__(self) -> TopicReader:
        await self._consumer.start()
        self._consumer.assign(self._partitions)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()

    async def read_to_the_end(self) -> list[ConsumerRecord]:
        """All records that are there now, in order within a partition."""
        ends = await self._consumer.end_offsets(self._partitions)
        for partition, end in ends.items():
            while await self._consumer.position(partition) < end:
                batches = await self._consumer.getmany(partition, timeout_ms=1_000)
                self.records += [record for batch in batches.values() for record in batch]
        return self.records
