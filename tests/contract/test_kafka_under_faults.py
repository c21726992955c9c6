"""Kafka behind a bad network: what is not taken says so, and nothing that was taken is missed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from beam_agents.effector.backends.kafka_sink import KafkaSink
from beam_agents.effector.backends.kafka_source import KafkaSource
from beam_agents.effector.errors import BackendUnavailable
from beam_agents.effector.ports import SinkUnavailable
from beam_agents.effector.testing.log_bench import Member, numbered, values
from tests.contract.test_kafka_log import KafkaLogBench
from tests.fault_proxy import Fault, FaultProxy

# From the broker's plain port: its listener behind a proxy, and where that proxy must be.
_PROXIED = 5
_PROXY = 6

pytestmark = pytest.mark.timeout(180)


class ProxiedLogBench(KafkaLogBench):
    """A topic, reached through a proxy by those under test, and directly by the bench."""

    def __init__(self, broker: str, proxy: FaultProxy) -> None:
        super().__init__(broker)
        self.proxied = [f"127.0.0.1:{proxy.port}"]
        self.group = f"group-{uuid4().hex}"

    def source(self) -> KafkaSource:
        return KafkaSource(self.proxied, self.topic, group=self.group)

    def sink(self) -> KafkaSink:
        return KafkaSink(self.proxied, self.topic)


@pytest.fixture
async def proxy(kafka_hosts: str) -> AsyncIterator[FaultProxy]:
    host, _, port = kafka_hosts.partition(",")[0].rpartition(":")
    async with FaultProxy(host, int(port) + _PROXIED, listen_port=int(port) + _PROXY) as proxy:
        yield proxy


@pytest.fixture
async def bench(kafka_hosts: str, proxy: FaultProxy) -> ProxiedLogBench:
    bench = ProxiedLogBench(kafka_hosts, proxy)
    await bench.start()
    return bench


async def _published_in_the_end(sink: KafkaSink, value: bytes) -> None:
    """Publish as the effector does: again, for as long as the sink is unavailable."""
    while True:
        try:
            return await sink.publish(key=b"acct-1", value=value)
        except SinkUnavailable:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("fault", [Fault.BLACKHOLE, Fault.LOST_REPLIES])
async def test_a_record_that_nobody_acknowledged_is_published_once_the_network_is_back(
    bench: ProxiedLogBench, proxy: FaultProxy, fault: Fault
) -> None:
    sink = bench.sink()
    await sink.open()
    await sink.publish(key=b"acct-1", value=b"before")

    proxy.fault = fault
    with pytest.raises(SinkUnavailable):
        await sink.publish(key=b"acct-1", value=b"in doubt")
    proxy.fault = Fault.NONE
    proxy.reset()
    await _published_in_the_end(sink, b"in doubt")

    seen = [record.value for record in await bench.records()]
    assert seen[0] == b"before"
    assert set(seen[1:]) == {b"in doubt"}
    await sink.aclose()


async def test_a_reader_goes_on_where_it_was_after_a_partition(
    bench: ProxiedLogBench, proxy: FaultProxy
) -> None:
    member = await Member.join(bench.source())
    await bench.append(*numbered(3))
    await member.finish(await member.fetch(3))

    proxy.fault = Fault.BLACKHOLE
    await bench.append(*numbered(3, start=3))
    fetching = asyncio.ensure_future(member.fetch(3))
    await asyncio.sleep(0)
    proxy.fault = Fault.NONE
    proxy.reset()

    assert set(values(await fetching)) == {3, 4, 5}
    await member.source.aclose()


async def test_connections_that_are_reset_lose_nothing(
    bench: ProxiedLogBench, proxy: FaultProxy
) -> None:
    sink, member = bench.sink(), await Member.join(bench.source())
    await sink.open()
    for number in range(5):
        proxy.reset()
        await _published_in_the_end(sink, str(number).encode())

    seen: set[int] = set()
    while seen < set(range(5)):
        seen.update(values(await member.fetch(1)))

    await sink.aclose()
    await member.source.aclose()


async def test_a_slow_network_is_waited_for(bench: ProxiedLogBench, proxy: FaultProxy) -> None:
    proxy.latency_s = 0.05
    sink = bench.sink()
    await sink.open()

    await sink.publish(key=b"acct-1", value=b"slow")

    assert [record.value for record in await bench.records()] == [b"slow"]
    await sink.aclose()


async def test_a_broker_that_hangs_at_start_is_named(
    bench: ProxiedLogBench, proxy: FaultProxy
) -> None:
    proxy.fault = Fault.HALF_OPEN

    with pytest.raises(BackendUnavailable, match="no answer within"):
        await bench.sink().open()
