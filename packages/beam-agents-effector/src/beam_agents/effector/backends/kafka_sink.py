"""`kafka://`: records into a topic, acknowledged by all in-sync replicas."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError, MessageSizeTooLargeError

from beam_agents.effector.backends.kafka_connection import ANSWER_TIMEOUT_S, connected_arguments
from beam_agents.effector.errors import BackendUnavailable
from beam_agents.effector.ports import Headers, RecordTooLarge, SinkUnavailable
from beam_agents.kafka import KafkaSecurity

# The topic says what is too large for it, so we refuse nothing before; only what is above
# the broker's `socket.request.max.bytes`, where it would hang up without an answer.
_MAX_REQUEST_BYTES = 100_000_000
_RETIRE_S = 5.0


class KafkaSink:
    """Appends to one topic: idempotent producer, `acks=all`, keys partitioned as in Java.

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
        self._arguments: dict[str, Any] = {}
        self._producer: AIOKafkaProducer | None = None
        self._broken: AIOKafkaProducer | None = None
        self._replacing = asyncio.Lock()
        self._retired: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Check the broker and the topic, and connect.

        Raises:
            BackendUnavailable: No broker lets us in.
            TopicMissing: There is no such topic.
        """
        self._arguments = await connected_arguments(self._hosts, self._topic, self._security)
        try:
            self._producer = await self._started()
        except KafkaError as error:
            raise BackendUnavailable(f"cannot write topic {self._topic!r}: {error}") from error

    async def publish(self, *, key: bytes, value: bytes, headers: Headers = ()) -> None:
        """Return once the record is durable.

        Raises:
            SinkUnavailable: It may or may not have been taken; publish it again.
            RecordTooLarge: It never will be.
        """
        producer = await self._working()
        try:
            sent = await producer.send(self._topic, value, key=key, headers=list(headers))
            await asyncio.wait({sent}, timeout=ANSWER_TIMEOUT_S)
            if not sent.done():
                raise KafkaTimeoutError(f"no answer within {ANSWER_TIMEOUT_S:.0f} s")
            sent.result()
        except MessageSizeTooLargeError as error:
            self._broken = producer
            raise RecordTooLarge(len(value)) from error
        except KafkaError as error:
            self._broken = producer
            raise SinkUnavailable(f"{self._topic!r} did not take the record: {error}") from error

    async def check(self) -> None:
        """Raise what keeps the topic from taking records, if anything does."""
        if not await self._opened().client.force_metadata_update():
            raise SinkUnavailable(f"no broker answers for topic {self._topic!r}")

    async def aclose(self) -> None:
        """Flush, and close the connection."""
        if self._producer is not None:
            await _stop(self._producer)
            self._producer = None
        if self._retired:
            await asyncio.wait(self._retired)

    async def _working(self) -> AIOKafkaProducer:
        """Return the producer; a new one, if a record of the last one was not taken.

        Such a record has used up a sequence number, for which the broker may refuse all
        later ones; or it still waits in there, and must not be joined by its own repeat.
        """
        if self._producer is not self._broken:
            return self._opened()
        async with self._replacing:
            broken = self._opened()
            if broken is not self._broken:
                return broken
            try:
                self._producer = await self._started()
            except KafkaError as error:
                raise SinkUnavailable(f"cannot write topic {self._topic!r}: {error}") from error
            task = asyncio.ensure_future(_stop(broken))
            self._retired.add(task)
            task.add_done_callback(self._retired.discard)
            return self._producer

    async def _started(self) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            **self._arguments,
            acks="all",
            enable_idempotence=True,
            max_request_size=_MAX_REQUEST_BYTES,
        )
        try:
            await producer.start()
            # So that a record joins its batch in the step in which it is published.
            await producer.partitions_for(self._topic)
        except BaseException:
            await producer.stop()
            raise
        return producer

    def _opened(self) -> AIOKafkaProducer:
        if self._producer is None:
            raise RuntimeError("the sink is not open")
        return self._producer


async def _stop(producer: AIOKafkaProducer) -> None:
    """Stop a producer, flushing what it can in a bounded time."""
    try:
        await asyncio.wait_for(producer.stop(), _RETIRE_S)
    except (asyncio.TimeoutError, KafkaError):
        await producer.client.close()
