"""`kafka://`: records into a topic, acknowledged by all in-sync replicas."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Sequence

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from beam_agents.io import kafka_thread
from beam_agents.io.address import TopicAddress
from beam_agents.io.errors import TopicUnavailable
from beam_agents.io.kafka_access import client_arguments
from beam_agents.io.records import OutboundRecord

# How long a bundle waits for a broker that restarts, before it fails and is tried again.
_PATIENCE_S = 60.0
_RETIRE_S = 5.0
# The topic says what is too large for it; only what is above the broker's
# `socket.request.max.bytes` would be answered by a hang-up.
_MAX_REQUEST_BYTES = 100_000_000


class KafkaWriter:
    """Appends to one topic: idempotent producer, `acks=all`, keys partitioned as in Java.

    Raises:
        TopicUnavailable: The topic is not there, or nobody lets us write it.
    """

    def __init__(self, address: TopicAddress) -> None:
        self._address = address
        self._topic = address.uri.topic
        self._starting = asyncio.Lock()
        self._producer: AIOKafkaProducer | None = None
        kafka_thread.run(self._working())
        atexit.register(self._close)

    def write(self, records: Sequence[OutboundRecord]) -> None:
        """Return once all are durable, in order within a key.

        Raises:
            TopicUnavailable: Some may not be: write all of them again.
        """
        kafka_thread.run(self._write(records))

    def _close(self) -> None:
        if self._producer is not None:
            kafka_thread.run(_stop(self._producer))

    async def _write(self, records: Sequence[OutboundRecord]) -> None:
        producer = await self._working()
        try:
            await asyncio.wait_for(self._send_all(producer, records), _PATIENCE_S)
        except (KafkaError, asyncio.TimeoutError) as error:
            # A record that was not taken has used up a sequence number, or still waits
            # in there: its repeat needs another producer.
            if self._producer is producer:
                self._producer = None
            await _stop(producer)
            reason = repr(error) if str(error) else f"no answer within {_PATIENCE_S:.0f} s"
            raise TopicUnavailable(f"cannot write {str(self._address)!r}: {reason}") from error

    async def _send_all(
        self, producer: AIOKafkaProducer, records: Sequence[OutboundRecord]
    ) -> None:
        sent = [
            await producer.send(
                self._topic, record.value, key=record.key, headers=list(record.headers)
            )
            for record in records
        ]
        await asyncio.gather(*sent)

    async def _working(self) -> AIOKafkaProducer:
        async with self._starting:
            if self._producer is None:
                self._producer = await self._started()
            return self._producer

    async def _started(self) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            **await client_arguments(self._address),
            acks="all",
            enable_idempotence=True,
            max_request_size=_MAX_REQUEST_BYTES,
        )
        try:
            await producer.start()
        except KafkaError as error:
            await producer.stop()
            raise TopicUnavailable(f"cannot write {str(self._address)!r}: {error!r}") from error
        return producer


async def _stop(producer: AIOKafkaProducer) -> None:
    """Stop a producer, flushing what it can in a bounded time."""
    try:
        await asyncio.wait_for(producer.stop(), _RETIRE_S)
    except (asyncio.TimeoutError, KafkaError):
        await producer.client.close()
