"""Pub/Sub keeps the contracts of `Source` and `Sink`, on the emulator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from google.pubsub_v1.types import PubsubMessage

from beam_agents.effector.backends.pubsub_messages import from_message, to_message
from beam_agents.effector.backends.pubsub_sink import PubsubSink
from beam_agents.effector.backends.pubsub_source import PubsubSource
from beam_agents.effector.clock import SystemClock
from beam_agents.effector.errors import BackendUnavailable, OperatorError, TopicMissing
from beam_agents.effector.ports import RecordTooLarge, SinkUnavailable
from beam_agents.effector.testing.log_bench import numbered, values
from beam_agents.effector.testing.log_contract import (
    LogBench,
    LoggedRecord,
    Member,
    SinkContract,
    SourceContract,
)
from tests.fault_proxy import Fault, FaultProxy
from tests.pubsub_topics import PROJECT, Topics

LEASE_MS = 10_000


class LeapingClock(SystemClock):
    """The host's clock, which a test can make leap, as one does that slept."""

    leapt_ms = 0

    def monotonic_ms(self) -> int:
        return super().monotonic_ms() + self.leapt_ms


class PubsubLogBench(LogBench):
    patience_s = 1.0
    has_offsets = False

    def __init__(self, topics: Topics) -> None:
        self.topics = topics
        self.topic = f"contract-{uuid4().hex}"
        self.clock = LeapingClock()
        self._read: list[LoggedRecord] = []

    async def start(self) -> None:
        await self.topics.create(self.topic)
        await self.topics.subscribe(f"{self.topic}-group", self.topic)
        await self.topics.subscribe(f"{self.topic}-reader", self.topic)

    def source(self) -> PubsubSource:
        return PubsubSource(PROJECT, f"{self.topic}-group", lease_ms=LEASE_MS, clock=self.clock)

    def sink(self) -> PubsubSink:
        return PubsubSink(PROJECT, self.topic)

    async def append(self, *records: LoggedRecord) -> None:
        messages = [to_message(record.key, record.value, record.headers) for record in records]
        await self.topics.publish(self.topic, messages)

    async def records(self) -> list[LoggedRecord]:
        messages = await self.topics.take(f"{self.topic}-reader")
        self._read += [_record(message) for message in messages]
        return self._read

    async def take_away(self, member: Member) -> None:
        # A worker that slept past its leases finds them over, and Pub/Sub gives its messages
        # to whoever pulls.
        self.clock.leapt_ms += LEASE_MS
        await member.told.wait()


def _record(message: PubsubMessage) -> LoggedRecord:
    return LoggedRecord(*from_message(message.ordering_key, message.data, message.attributes))


@pytest.fixture
async def topics(pubsub_emulator: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Topics]:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", pubsub_emulator)
    topics = Topics(pubsub_emulator)
    yield topics
    await topics.aclose()


@pytest.fixture
async def log_bench(topics: Topics) -> PubsubLogBench:
    bench = PubsubLogBench(topics)
    await bench.start()
    return bench


class TestPubsubSource(SourceContract):
    pass


class TestPubsubSink(SinkContract):
    pass


# --- what others wrote ---


async def test_a_strangers_message_is_read(log_bench: PubsubLogBench) -> None:
    message = PubsubMessage(data=b"1", attributes={"origin": "console"}, ordering_key="not hex")
    await log_bench.topics.publish(log_bench.topic, [message])
    member = await Member.join(log_bench.source())

    [delivery] = await member.fetch(1)

    assert (delivery.key, delivery.value) == (b"not hex", b"1")
    assert delivery.headers == (("origin", b"console"),)
    await member.source.aclose()


async def test_messages_without_a_key_wait_for_nobody(log_bench: PubsubLogBench) -> None:
    await log_bench.append(*(LoggedRecord(None, str(number).encode()) for number in range(3)))
    first = await Member.join(log_bench.source())
    fetched = await first.fetch(3)
    await first.finish(fetched[1:])
    await first.source.aclose()

    second = await Member.join(log_bench.source())

    assert values(await second.fetch(1)) == values(fetched[:1])
    await second.source.aclose()


async def test_a_key_is_acknowledged_though_another_is_not_finished(
    log_bench: PubsubLogBench,
) -> None:
    await log_bench.append(*numbered(2), LoggedRecord(b"acct-2", b"2"))
    first = await Member.join(log_bench.source())
    fetched = {int(each.value or b""): each for each in await first.fetch(3)}
    await first.finish([fetched[1], fetched[2]])
    await first.source.aclose()

    second = await Member.join(log_bench.source())

    assert values(await second.fetch(2)) == [0, 1]
    await second.source.aclose()


# --- leases ---


async def test_what_is_held_stays_ours_for_longer_than_its_lease(
    log_bench: PubsubLogBench,
) -> None:
    await log_bench.append(*numbered(2))
    holder = await Member.join(log_bench.source())
    fetched = await holder.fetch(2)
    other = await Member.join(log_bench.source())
    fetch = asyncio.ensure_future(other.fetch(1))

    done, _ = await asyncio.wait({fetch}, timeout=1.5 * LEASE_MS / 1000)

    assert not done
    assert holder.lost == []
    await holder.finish(fetched)
    await log_bench.append(*numbered(1, start=2))
    await holder.source.aclose()
    assert values(await fetch) == [2]
    await other.source.aclose()


async def test_a_worker_that_is_cut_off_for_a_lease_loses_all_that_it_holds(
    log_bench: PubsubLogBench, behind_a_proxy: FaultProxy
) -> None:
    await log_bench.append(*numbered(2))
    member = await Member.join(log_bench.source())
    fetched = await member.fetch(1)
    behind_a_proxy.fault = Fault.BLACKHOLE

    await member.told.wait()

    assert member.lost == [fetched[0].partition]
    await member.source.aclose()


async def test_a_broken_stream_is_opened_again(
    log_bench: PubsubLogBench, behind_a_proxy: FaultProxy
) -> None:
    await log_bench.append(*numbered(1))
    member = await Member.join(log_bench.source())
    await member.fetch(1)
    behind_a_proxy.reset()
    await _healthy(member)  # though no message came
    fetch = asyncio.ensure_future(member.fetch(1))

    # Some are lost on the old stream: the emulator gives them to others after their lease.
    while not fetch.done():
        await log_bench.append(LoggedRecord(uuid4().bytes, b"0"))
        await asyncio.wait({fetch}, timeout=0.2)

    assert values(await fetch) == [0]
    assert member.lost == []
    await member.source.aclose()


# --- publishing through a bad network ---


async def test_a_key_goes_on_in_order_after_a_failed_publish(
    log_bench: PubsubLogBench, behind_a_proxy: FaultProxy
) -> None:
    sink = log_bench.sink()
    await sink.open()
    behind_a_proxy.fault = Fault.HALF_OPEN
    behind_a_proxy.reset()
    failed = await asyncio.gather(
        *(sink.publish(key=b"acct-1", value=str(number).encode()) for number in range(3)),
        return_exceptions=True,
    )
    behind_a_proxy.fault = Fault.NONE
    behind_a_proxy.reset()

    for number in range(3):
        await _published(sink, str(number).encode())

    assert all(isinstance(error, SinkUnavailable) for error in failed)
    assert [record.value for record in await log_bench.records()] == [b"0", b"1", b"2"]
    await sink.aclose()


async def test_a_record_too_large_for_pubsub_does_not_stop_the_next(
    log_bench: PubsubLogBench,
) -> None:
    sink = log_bench.sink()
    await sink.open()

    with pytest.raises(RecordTooLarge):
        await sink.publish(key=b"acct-1", value=b"x" * 10_000_000)
    with pytest.raises(RecordTooLarge):
        await sink.publish(key=b"k" * 513, value=b"its ordering key is too long")

    await sink.publish(key=b"acct-1", value=b"after")
    assert [record.value for record in await log_bench.records()] == [b"after"]
    await sink.aclose()


# --- what cannot be used ---


async def test_a_missing_subscription_and_topic_are_named_at_once(topics: Topics) -> None:
    with pytest.raises(
        TopicMissing, match="subscription 'projects/beam-agents/subscriptions/no-such'"
    ):
        await PubsubSource(PROJECT, "no-such").open(lambda _: None)
    with pytest.raises(TopicMissing, match="topic 'projects/beam-agents/topics/no-such'"):
        await PubsubSink(PROJECT, "no-such").open()


async def test_a_subscription_without_order_is_refused(log_bench: PubsubLogBench) -> None:
    await log_bench.topics.subscribe(f"{log_bench.topic}-bag", log_bench.topic, ordered=False)
    source = PubsubSource(PROJECT, f"{log_bench.topic}-bag")

    with pytest.raises(OperatorError, match="create another one with message ordering"):
        await source.open(lambda _: None)


async def test_a_subscription_that_takes_intents_away_is_warned_of(
    log_bench: PubsubLogBench, caplog: pytest.LogCaptureFixture
) -> None:
    await log_bench.topics.create(f"{log_bench.topic}-dead")
    await log_bench.topics.subscribe(
        f"{log_bench.topic}-policy", log_bench.topic, dead_letter_topic=f"{log_bench.topic}-dead"
    )
    source = PubsubSource(PROJECT, f"{log_bench.topic}-policy")

    await source.open(lambda _: None)

    assert "after 5 deliveries, without a result" in caplog.text
    await source.aclose()


async def test_a_subscription_that_is_deleted_ends_the_source(log_bench: PubsubLogBench) -> None:
    member = await Member.join(log_bench.source())
    await log_bench.topics.unsubscribe(f"{log_bench.topic}-group")

    with pytest.raises(TopicMissing, match="does not exist"):
        await member.fetch(1)
    await member.source.aclose()


async def test_an_unreachable_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", "127.0.0.1:1")

    with pytest.raises(BackendUnavailable, match=r"projects/beam-agents/topics/t'.*127\.0\.0\.1:1"):
        await PubsubSink(PROJECT, "t").open()


@pytest.fixture
async def behind_a_proxy(
    log_bench: PubsubLogBench, pubsub_emulator: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FaultProxy]:
    """What the sources and sinks of this test go through; the bench does not."""
    host, _, port = pubsub_emulator.partition(":")
    async with FaultProxy(host, int(port)) as proxy:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", f"127.0.0.1:{proxy.port}")
        yield proxy


async def _published(sink: PubsubSink, value: bytes) -> None:
    while True:
        try:
            return await sink.publish(key=b"acct-1", value=value)
        except SinkUnavailable:
            await asyncio.sleep(0.1)  # the client waits before it connects anew


async def _healthy(member: Member) -> None:
    while True:
        try:
            return await member.source.check()
        except BackendUnavailable:
            await asyncio.sleep(0.1)
