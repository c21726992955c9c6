"""Topics of a real broker, as pipelines read and write them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete

from beam_agents.io import kafka_thread
from beam_agents.io.address import Credentials, TopicAddress
from beam_agents.io.errors import TopicUnavailable
from beam_agents.io.kafka_access import partitions
from beam_agents.io.kafka_reader import KafkaReader
from beam_agents.io.kafka_writer import KafkaWriter
from beam_agents.io.logs import Look
from beam_agents.io.records import OutboundRecord
from beam_agents.kafka import KafkaSecurity
from compose.local.places import services_folder
from compose.local.servers.kafka import USERS

PATIENCE_S = 30.0
MAX_MESSAGE_BYTES = 100_000
ALICE = KafkaSecurity("SASL_PLAINTEXT", "SCRAM-SHA-512", "alice", USERS["alice"])


class Topic:
    """A topic of one partition, and what is done to it by others than us."""

    def __init__(self, hosts: str) -> None:
        self.hosts = hosts
        self.name = f"io-{uuid4().hex}"
        self.readers: list[KafkaReader] = []

    def create(self, partitions: int = 1) -> None:
        limit = {"max.message.bytes": str(MAX_MESSAGE_BYTES)}
        new = NewTopic(self.name, partitions, 1, topic_configs=limit)
        self.administer(lambda admin: admin.create_topics([new]))

    def address(self, params: str = "") -> TopicAddress:
        return TopicAddress(f"kafka://{self.hosts}/{self.name}{params}")

    def write(self, *values: bytes) -> None:
        KafkaWriter(self.address()).write([OutboundRecord(b"k", value) for value in values])

    def reader(self, params: str = "") -> KafkaReader:
        self.readers.append(KafkaReader(self.address(params), 0))
        return self.readers[-1]

    def produce(self, *values: bytes, commit: bool = True) -> None:
        """Append in a transaction, as another program might."""

        async def transact() -> None:
            name = f"transaction-{uuid4().hex}"
            async with AIOKafkaProducer(
                bootstrap_servers=self.hosts, transactional_id=name, compression_type="lz4"
            ) as producer:
                await producer.begin_transaction()
                for value in values:
                    await producer.send(self.name, value)
                await (producer.commit_transaction() if commit else producer.abort_transaction())

        kafka_thread.run(transact())

    def administer(self, act: Callable[[AIOKafkaAdminClient], object]) -> None:
        async def run() -> None:
            admin = AIOKafkaAdminClient(bootstrap_servers=self.hosts)
            await admin.start()
            try:
                await act(admin)  # type: ignore[misc]
            finally:
                await admin.close()

        kafka_thread.run(run())

    def committed(self, group: str) -> int | None:
        async def ask() -> int | None:
            async with AIOKafkaConsumer(bootstrap_servers=self.hosts, group_id=group) as consumer:
                offset: int | None = await consumer.committed(TopicPartition(self.name, 0))
                return offset

        return kafka_thread.run(ask())


@pytest.fixture
def topic(kafka_hosts: str) -> Iterator[Topic]:
    topic = Topic(kafka_hosts)
    yield topic
    for reader in topic.readers:
        reader.close()


def until(look: Callable[[], Look], met: Callable[[Look], bool]) -> Look:
    """Look again until what was found is enough."""
    give_up = time.monotonic() + PATIENCE_S
    while not met(found := look()):
        assert time.monotonic() < give_up, f"not so after {PATIENCE_S} s: {found}"
        time.sleep(0.02)
    return found


class Following:
    """Looks on from where the last look ended, and keeps what it found."""

    def __init__(self, reader: KafkaReader) -> None:
        self.reader = reader
        self.offset = 0
        self.found: list[bytes | None] = []

    def __call__(self) -> Look:
        look = self.reader.look(self.offset, 9, 5)
        self.offset = look.next_offset
        self.found += values(look)
        return look


def values(look: Look) -> list[bytes | None]:
    return [record.value for record in look.records]


def test_what_is_written_is_read_in_order_with_all_that_belongs_to_it(topic: Topic) -> None:
    topic.create()
    records = [OutboundRecord(b"k", b"%d" % n, (("name", b"header"),)) for n in range(3)]
    KafkaWriter(topic.address()).write(records)
    reader = topic.reader()

    look = until(lambda: reader.look(0, 10, 5), lambda found: len(found.records) == 3)

    first = look.records[0]
    assert values(look) == [b"0", b"1", b"2"]
    assert (first.key, first.headers, first.received_at_ms) == (b"k", (("name", b"header"),), 5)
    assert (first.topic, first.partition, first.offset) == (topic.name, 0, 0)
    assert first.place == f"record 0 of partition 0 of topic {topic.name!r}"


def test_a_look_takes_no_more_than_its_limit_and_the_next_goes_on(topic: Topic) -> None:
    topic.create()
    topic.write(b"0", b"1", b"2")
    reader = topic.reader()

    first = until(lambda: reader.look(0, 2, 5), lambda found: bool(found.records))
    second = reader.look(first.next_offset, 2, 5)

    assert [values(first), values(second)] == [[b"0", b"1"], [b"2"]]
    assert (first.end_seen_ms, second.next_offset) == (None, 3)


def test_what_was_not_processed_can_be_read_again(topic: Topic) -> None:
    topic.create()
    topic.write(b"0", b"1")
    reader = topic.reader()

    for _ in range(2):
        assert values(until(lambda: reader.look(0, 9, 5), lambda found: bool(found.records))) == [
            b"0",
            b"1",
        ]


def test_keys_are_spread_over_the_partitions_and_each_has_one(topic: Topic) -> None:
    topic.create(partitions=3)
    writer = KafkaWriter(topic.address())
    keys = [b"key-%d" % n for n in range(30)]
    for _ in range(2):
        writer.write([OutboundRecord(key, b"v") for key in keys])

    assert partitions(topic.address()) == [0, 1, 2]
    found: list[bytes | None] = []
    for number in range(3):
        reader = KafkaReader(topic.address(), number)
        topic.readers.append(reader)
        look = until(lambda r=reader: r.look(0, 99, 5), lambda f: bool(f.records))  # type: ignore[misc]
        of_partition = [record.key for record in look.records]
        assert len(of_partition) == 2 * len(set(of_partition))
        found += of_partition
    assert sorted(found) == sorted(keys * 2)  # type: ignore[type-var]


def test_the_end_of_a_quiet_log_is_seen_again_and_again(topic: Topic) -> None:
    topic.create()
    reader = topic.reader()

    first = until(lambda: reader.look(0, 9, 5), lambda found: found.end_seen_ms is not None)
    later = until(
        lambda: reader.look(0, 9, 5),
        lambda found: (found.end_seen_ms or 0) > (first.end_seen_ms or 0),
    )

    assert (later.records, later.next_offset) == ([], 0)


def test_the_end_is_seen_behind_what_a_transaction_leaves_in_the_log(topic: Topic) -> None:
    topic.create()
    topic.produce(b"kept")
    topic.produce(b"dropped", commit=False)
    following = Following(topic.reader())

    until(following, lambda look: look.end_seen_ms is not None and following.offset > 0)

    assert following.found == [b"kept"]
    assert following.offset == 4  # two records, and two markers that end transactions


def test_a_group_is_told_how_far_its_pipeline_got_and_tells_the_next(topic: Topic) -> None:
    topic.create()
    topic.write(b"0", b"1")
    group = f"group-{uuid4().hex}"
    reader = topic.reader(f"?group={group}")
    assert reader.first_offset() == 0

    reader.commit(1)

    give_up = time.monotonic() + PATIENCE_S
    while topic.committed(group) != 1:
        assert time.monotonic() < give_up
    assert topic.reader(f"?group={group}").first_offset() == 1
    assert topic.reader().first_offset() == 0


def test_what_the_log_no_longer_holds_is_passed_over_and_reported(
    topic: Topic, caplog: pytest.LogCaptureFixture
) -> None:
    topic.create()
    topic.write(b"0", b"1", b"2")
    gone = {TopicPartition(topic.name, 0): RecordsToDelete(before_offset=2)}
    topic.administer(lambda admin: admin.delete_records(gone))
    following = Following(topic.reader())

    until(following, lambda look: bool(look.records))

    assert following.found == [b"2"]
    assert "no longer holds 2 records that were not read yet" in caplog.text


def test_a_topic_that_was_made_anew_is_not_mistaken_for_the_old_one(topic: Topic) -> None:
    topic.create()
    topic.write(b"0")
    reader = topic.reader()

    with pytest.raises(TopicUnavailable, match="it was made anew"):
        until(lambda: reader.look(7, 9, 5), lambda found: bool(found.records))


def test_a_record_that_is_too_large_fails_the_write_and_the_writer_works_on(topic: Topic) -> None:
    topic.create()
    writer = KafkaWriter(topic.address())

    with pytest.raises(TopicUnavailable, match="MessageSizeTooLarge"):
        writer.write([OutboundRecord(b"k", b"x" * (MAX_MESSAGE_BYTES + 1))])
    writer.write([OutboundRecord(b"k", b"small")])

    reader = topic.reader()
    look = until(lambda: reader.look(0, 9, 5), lambda found: bool(found.records))
    assert values(look) == [b"small"]


def sasl(hosts: str) -> str:
    """The listener after the controller's, which asks who one is."""
    host, _, port = hosts.partition(",")[0].rpartition(":")
    return f"{host}:{int(port) + 2}"


@pytest.mark.parametrize("credentials", [ALICE, lambda: ALICE], ids=["value", "callable"])
def test_credentials_are_a_value_or_asked_for(topic: Topic, credentials: Credentials) -> None:
    topic.create()
    address = replace(topic.address(), text=f"kafka://{sasl(topic.hosts)}/{topic.name}")

    KafkaWriter(replace(address, credentials=credentials)).write([OutboundRecord(b"k", b"v")])

    reader = KafkaReader(replace(address, credentials=credentials), 0)
    topic.readers.append(reader)
    assert values(until(lambda: reader.look(0, 9, 5), lambda found: bool(found.records))) == [b"v"]


@pytest.mark.parametrize(
    ("credentials", "reason"),
    [
        (replace(ALICE, password="wrong"), "invalid credentials"),
        (None, r"another KafkaSecurity\.protocol"),
        (
            KafkaSecurity("SASL_SSL", "PLAIN", "alice", USERS["alice"]),
            r"another KafkaSecurity\.protocol",
        ),
    ],
    ids=["password", "protocol", "tls"],
)
def test_who_is_not_let_in_is_told_the_real_reason_in_one_line(
    topic: Topic, credentials: Credentials | None, reason: str
) -> None:
    topic.create()
    address = TopicAddress(f"kafka://{sasl(topic.hosts)}/{topic.name}", credentials)

    for use in (KafkaWriter, partitions):
        with pytest.raises(TopicUnavailable, match=reason) as raised:
            use(address)
        assert "\n" not in str(raised.value)


def test_a_topic_that_is_not_there_is_named(topic: Topic) -> None:
    for use in (KafkaWriter, partitions, lambda address: KafkaReader(address, 0)):
        with pytest.raises(TopicUnavailable, match=f"topic '{topic.name}' does not exist"):
            use(topic.address())


def test_a_broker_that_is_not_there_is_named(kafka_hosts: str) -> None:
    with pytest.raises(TopicUnavailable, match=r"127\.0\.0\.1:1: connection refused"):
        partitions(TopicAddress("kafka://127.0.0.1:1/events"))


def test_tls_is_spoken_with_the_authority_that_is_given(topic: Topic) -> None:
    topic.create()
    host, _, port = topic.hosts.partition(",")[0].rpartition(":")
    ca = str(services_folder() / "kafka" / "tls" / "ca.crt")
    address = TopicAddress(f"kafka://{host}:{int(port) + 3}/{topic.name}")

    assert partitions(replace(address, credentials=KafkaSecurity("SSL", ca_file=ca))) == [0]
    with pytest.raises(TopicUnavailable, match="certificate is not trusted"):
        partitions(replace(address, credentials=KafkaSecurity("SSL")))
