"""Kafka keeps the contracts of `Source`, `Sink` and `Browser`, on a real broker."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from beam_agents.effector.backends.kafka_browser import KafkaBrowser
from beam_agents.effector.backends.kafka_sink import KafkaSink
from beam_agents.effector.backends.kafka_source import KafkaSource
from beam_agents.effector.errors import BackendUnavailable, TopicMissing
from beam_agents.effector.ports import RecordTooLarge
from beam_agents.effector.testing.log_bench import RECORD_LIMIT_S, values
from beam_agents.effector.testing.log_contract import (
    BrowserContract,
    LogBench,
    LoggedRecord,
    Member,
    SinkContract,
    SourceContract,
)

_MAX_MESSAGE_BYTES = 100_000


class KafkaLogBench(LogBench):
    patience_s = 1.0

    def __init__(self, broker: str) -> None:
        self.hosts = broker.split(",")
        self.topic = f"contract-{uuid4().hex}"
        self._group = f"group-{uuid4().hex}"

    async def start(self, partitions: int = 1) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.hosts)
        await admin.start()
        limit = {"max.message.bytes": str(_MAX_MESSAGE_BYTES)}
        await admin.create_topics([NewTopic(self.topic, partitions, 1, topic_configs=limit)])
        await admin.close()

    def source(self) -> KafkaSource:
        return KafkaSource(self.hosts, self.topic, group=self._group)

    def sink(self) -> KafkaSink:
        return KafkaSink(self.hosts, self.topic)

    async def append(self, *records: LoggedRecord) -> None:
        async with AIOKafkaProducer(bootstrap_servers=self.hosts, acks="all") as producer:
            for record in records:
                await producer.send(
                    self.topic, record.value, key=record.key, headers=list(record.headers)
                )

    async def records(self) -> list[LoggedRecord]:
        partition = TopicPartition(self.topic, 0)
        async with AIOKafkaConsumer(
            bootstrap_servers=self.hosts, auto_offset_reset="earliest"
        ) as consumer:
            consumer.assign([partition])
            end = (await consumer.end_offsets([partition]))[partition]
            read: list[LoggedRecord] = []
            while await consumer.position(partition) < end:
                record = await consumer.getone()
                headers = tuple((name, bytes(value)) for name, value in record.headers)
                read.append(LoggedRecord(record.key, record.value, headers))
            return read

    async def take_away(self, member: Member) -> None:
        # A member that joins makes the group deal its partitions out anew, and so does
        # one that leaves; all of them are taken away from everybody first.
        other = await Member.join(self.source())
        await member.told.wait()
        await other.source.aclose()


@pytest.fixture
async def log_bench(kafka_hosts: str) -> KafkaLogBench:
    bench = KafkaLogBench(kafka_hosts)
    await bench.start()
    return bench


class TestKafkaSource(SourceContract):
    pass


class TestKafkaSink(SinkContract):
    pass


class TestKafkaBrowser(BrowserContract):
    def browser(self, log_bench: LogBench) -> KafkaBrowser:
        assert isinstance(log_bench, KafkaLogBench)
        return KafkaBrowser(log_bench.hosts, log_bench.topic)


async def test_a_browser_reads_every_partition(kafka_hosts: str) -> None:
    bench = KafkaLogBench(kafka_hosts)
    await bench.start(partitions=3)
    await bench.append(*(LoggedRecord(f"key-{n}".encode(), str(n).encode()) for n in range(50)))
    browser = KafkaBrowser(bench.hosts, bench.topic)
    await browser.open()

    shown = [each async for each in browser.records()]

    assert sorted(values(shown)) == list(range(50))
    assert len({each.partition for each in shown}) == 3
    await browser.aclose()


async def test_a_browser_sees_past_an_aborted_transaction_at_the_end(
    log_bench: KafkaLogBench,
) -> None:
    await log_bench.append(LoggedRecord(b"k", b"0"))
    producer = AIOKafkaProducer(bootstrap_servers=log_bench.hosts, transactional_id=uuid4().hex)
    async with producer:
        await producer.begin_transaction()
        await producer.send_and_wait(log_bench.topic, b"1", key=b"k")
        await producer.abort_transaction()
    browser = KafkaBrowser(log_bench.hosts, log_bench.topic)
    await browser.open()

    assert values([each async for each in browser.records()]) == [0]
    await browser.aclose()


async def test_a_record_too_large_for_the_topic_does_not_stop_the_next(
    log_bench: KafkaLogBench,
) -> None:
    sink = log_bench.sink()
    await sink.open()
    await sink.publish(key=b"k", value=b"before")

    with pytest.raises(RecordTooLarge):
        await sink.publish(key=b"k", value=b"x" * 2 * _MAX_MESSAGE_BYTES)

    await sink.publish(key=b"k", value=b"after")
    assert [record.value for record in await log_bench.records()] == [b"before", b"after"]
    await sink.aclose()


async def test_a_missing_topic_is_named_at_once(kafka_hosts: str) -> None:
    source = KafkaSource(kafka_hosts.split(","), "no-such-topic", group="group")
    sink = KafkaSink(kafka_hosts.split(","), "no-such-topic")

    with pytest.raises(TopicMissing, match="'no-such-topic' does not exist"):
        await source.open(lambda _: None)
    with pytest.raises(TopicMissing, match="'no-such-topic' does not exist"):
        await sink.open()


async def test_an_unreachable_broker_is_named_with_the_reason() -> None:
    sink = KafkaSink(["127.0.0.1:1", "localhost:2"], "results")

    with pytest.raises(BackendUnavailable, match=r"127\.0\.0\.1:1: connection refused") as raised:
        await sink.open()
    assert "localhost:2" in str(raised.value)
    await sink.aclose()


async def test_two_members_share_the_partitions_and_miss_nothing(kafka_hosts: str) -> None:
    bench = KafkaLogBench(kafka_hosts)
    await bench.start(partitions=2)
    members = [await Member.join(bench.source()), await Member.join(bench.source())]
    seen: dict[int, set[int]] = {0: set(), 1: set()}
    all_seen = asyncio.Event()

    async def read(index: int) -> None:
        while True:
            deliveries = await members[index].fetch(1)
            seen[index].update(values(deliveries))
            await members[index].finish(deliveries)
            if seen[0] | seen[1] >= set(range(400)):
                all_seen.set()

    readers = [asyncio.ensure_future(read(index)) for index in seen]
    keyed = [LoggedRecord(f"key-{n}".encode(), str(n).encode()) for n in range(400)]
    await bench.append(*keyed)
    await asyncio.wait_for(all_seen.wait(), RECORD_LIMIT_S)

    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    for member in members:
        await member.source.aclose()
