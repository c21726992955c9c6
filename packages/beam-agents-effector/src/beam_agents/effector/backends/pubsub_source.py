"""`pubsub://project/subscription`: intents in the order of their keys, leased while they wait."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

from google.pubsub_v1 import SubscriberAsyncClient

from beam_agents.effector.backends.pubsub_connection import (
    ANSWER_TIMEOUT_S,
    FATAL,
    SILENT,
    closed_to_us,
    readable_subscription,
    subscriber,
)
from beam_agents.effector.backends.pubsub_held import HeldMessages
from beam_agents.effector.backends.pubsub_messages import from_message
from beam_agents.effector.backends.pubsub_stream import PubsubStream
from beam_agents.effector.clock import SystemClock
from beam_agents.effector.errors import BackendUnavailable, EffectorError
from beam_agents.effector.ports import Clock, Delivery

DEFAULT_LEASE_MS = 30_000

_LOG = logging.getLogger(__name__)

# A request of Pub/Sub takes 512 KiB, and an ack id some 200 bytes.
_IDS_A_REQUEST = 1_000
_HAND_BACK_S = 2.0  # where that takes longer, the leases end by themselves
_FIRST_WAIT_MS = 100
_LONGEST_WAIT_MS = 10_000


class PubsubSource:
    """Reads one subscription; others may read it as well.

    The subscription is one partition. Pub/Sub leases each message for a while, and
    gives it to another worker if nobody extends that; so all that is held is
    extended, running or waiting, every third of the lease. Where that fails for a
    whole lease, all of it is lost, as a partition is in a rebalance.

    Args:
        project: The Google Cloud project.
        subscription: The subscription; must exist, with message ordering.
        lease_ms: For how long a message is ours after we were last heard of.
        max_batch: How many records one fetch may give.
        clock: Counts the lease.
    """

    def __init__(
        self,
        project: str,
        subscription: str,
        *,
        lease_ms: int = DEFAULT_LEASE_MS,
        max_batch: int = 500,
        clock: Clock | None = None,
    ) -> None:
        self._path = f"projects/{project}/subscriptions/{subscription}"
        self._partition = subscription
        self._lease_ms = lease_ms
        self._max_batch = max_batch
        self._clock = clock or SystemClock()
        self._client_id = uuid4().hex
        self._held = HeldMessages()
        self._owed: list[str] = []  # what is to be handed back, by ack id
        self._waiting: deque[Delivery] = deque()
        self._some = asyncio.Event()
        self._paused = False
        self._leased_until_ms = 0
        self._obstacle: EffectorError | None = None
        self._client: SubscriberAsyncClient | None = None
        self._stream: PubsubStream | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._on_lost: Callable[[Collection[str]], None] = lambda _: None

    async def open(self, on_lost: Callable[[Collection[str]], None]) -> None:
        """Check the subscription, and begin to pull.

        Raises:
            BackendUnavailable: Pub/Sub does not answer.
            TopicMissing: There is no such subscription.
            OperatorError: It does not keep the order of a key, or is not for us.
        """
        self._on_lost = on_lost
        self._client = await subscriber()
        try:
            found = await readable_subscription(self._client, self._path)
        except BaseException:
            await self._disconnect()
            raise
        if found.dead_letter_policy.dead_letter_topic:
            _LOG.warning(
                "the subscription %r moves an intent to %r after %d deliveries, without a result",
                self._path,
                found.dead_letter_policy.dead_letter_topic,
                found.dead_letter_policy.max_delivery_attempts,
            )
        self._tasks = [asyncio.ensure_future(self._pull()), asyncio.ensure_future(self._keep())]
        for task in self._tasks:
            task.add_done_callback(lambda _: self._some.set())

    async def fetch(self) -> Sequence[Delivery]:
        """Wait for at least one delivery, and for Pub/Sub. May be cancelled without losing any.

        Raises:
            EffectorError: The subscription is closed to us; trying again is of no use.
        """
        self._opened()
        while self._paused or not self._waiting:
            for task in self._tasks:
                if task.done():
                    task.result()  # raises why it ended
            self._some.clear()
            await self._some.wait()
        count = min(len(self._waiting), self._max_batch)
        return [self._waiting.popleft() for _ in range(count)]

    def done(self, delivery: Delivery) -> None:
        """Take a delivery back as finished. A no-op for one that was lost."""
        self._held.finish(delivery.offset, delivery.epoch)

    def pause(self, partition: str) -> None:
        """Hand out no more until it is resumed, or lost; what is held stays ours."""
        self._paused = self._paused or partition == self._partition

    def resume(self, partition: str) -> None:
        """Hand out again."""
        if partition == self._partition:
            self._paused = False
            self._some.set()

    async def commit(self) -> None:
        """Acknowledge what is finished with all before it of its key. What was lost is left out.

        Raises:
            BackendUnavailable: Pub/Sub does not answer; commit again.
            EffectorError: The subscription is closed to us.
        """
        finished = self._held.acknowledgeable()
        for start in range(0, len(finished), _IDS_A_REQUEST):
            some = finished[start : start + _IDS_A_REQUEST]
            try:
                await self._opened().acknowledge(
                    subscription=self._path,
                    ack_ids=[held.ack_id for held in some],
                    retry=None,
                    timeout=ANSWER_TIMEOUT_S,
                )
            except SILENT as error:
                raise self._closed_to_us(error) from error
            self._held.acknowledged(some)

    async def lag(self) -> Mapping[str, int]:
        """Tell nothing: Pub/Sub numbers no messages, and counts them in Cloud Monitoring only."""
        return {}

    async def check(self) -> None:
        """Raise what keeps the subscription from being read, if anything does."""
        client = self._opened()
        if self._obstacle is not None:
            raise self._obstacle
        await readable_subscription(client, self._path)

    async def aclose(self) -> None:
        """Commit once more, and hand back at once what is not finished."""
        if self._client is None:
            return
        try:
            await self.commit()
        except EffectorError as error:
            _LOG.warning("what was not acknowledged will be delivered again: %s", error)
        await self._let_go()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._disconnect()

    # --- pulling -----------------------------------------------------------------------------

    async def _pull(self) -> None:
        """Pull for ever, by one stream after the other.

        Raises:
            EffectorError: The subscription is closed to us.
        """
        wait_ms = _FIRST_WAIT_MS
        while True:
            self._obstacle = None
            self._stream = PubsubStream(
                self._opened(),
                self._path,
                client_id=self._client_id,
                lease_s=self._lease_ms // 1000,
            )
            try:
                async for messages in self._stream.batches():
                    wait_ms = _FIRST_WAIT_MS
                    self._receive(messages)
            except SILENT as error:
                self._obstacle = self._closed_to_us(error)
                if isinstance(error, FATAL):
                    raise self._obstacle from error
                _LOG.info("the stream broke, and is opened again: %s", error)
            await self._clock.sleep(wait_ms)
            wait_ms = min(2 * wait_ms, _LONGEST_WAIT_MS)

    def _receive(self, messages: Sequence[Any]) -> None:
        if not len(self._held):
            self._leased_until_ms = self._clock.monotonic_ms() + self._lease_ms
        for received in messages:
            message = received.message
            offset = self._held.receive(message.message_id, received.ack_id, message.ordering_key)
            if offset is None:
                continue
            key, value, headers = from_message(
                message.ordering_key, message.data, message.attributes
            )
            self._waiting.append(
                Delivery(
                    partition=self._partition,
                    offset=offset,
                    key=key,
                    value=value,
                    headers=headers,
                    timestamp_ms=message.publish_time.ToMilliseconds(),
                    epoch=self._held.epoch,
                )
            )
        self._some.set()

    # --- leases ------------------------------------------------------------------------------

    async def _keep(self) -> None:
        """Extend the leases of all that is held, every third of their length."""
        while True:
            await self._clock.sleep(self._lease_ms // 3)
            while len(self._held) and not await self._extended():
                if self._clock.monotonic_ms() >= self._leased_until_ms:
                    await self._lose()
                else:
                    await self._clock.sleep(_FIRST_WAIT_MS)

    async def _extended(self) -> bool:
        """Extend all leases, unless they are over; tell whether that was done."""
        sent_ms = self._clock.monotonic_ms()
        left_ms = self._leased_until_ms - sent_ms
        if left_ms <= 0:
            return False
        try:
            await self._modify(
                self._held.ack_ids, self._lease_ms // 1000, min(ANSWER_TIMEOUT_S, left_ms / 1000)
            )
        except SILENT as error:
            _LOG.warning("leases of %r were not extended: %s", self._partition, error)
            return False
        self._leased_until_ms = sent_ms + self._lease_ms
        return True

    async def _lose(self) -> None:
        """Count all that is held as another worker's, and begin again."""
        _LOG.warning("nobody heard of us for a lease: all messages of %r are lost", self._partition)
        self._on_lost([self._partition])
        await self._let_go()

    async def _let_go(self) -> None:
        """Hold nothing, and hand it back: all that there is of a key, so that none overtakes."""
        self._waiting.clear()
        self._paused = False
        owed = self._owed
        owed += self._held.lose()
        if self._stream is not None:
            owed += await self._stream.end()
        with suppress(*SILENT):
            await self._modify(owed, 0, _HAND_BACK_S)
        owed.clear()

    async def _modify(self, ack_ids: list[str], lease_s: int, timeout_s: float) -> None:
        for start in range(0, len(ack_ids), _IDS_A_REQUEST):
            await self._opened().modify_ack_deadline(
                subscription=self._path,
                ack_ids=ack_ids[start : start + _IDS_A_REQUEST],
                ack_deadline_seconds=lease_s,
                retry=None,
                timeout=timeout_s,
            )

    # --- the connection ----------------------------------------------------------------------

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.transport.close()

    def _closed_to_us(self, error: BaseException) -> EffectorError:
        return closed_to_us("subscription", self._path, error)

    def _opened(self) -> SubscriberAsyncClient:
        if self._client is None:
            raise BackendUnavailable(f"the subscription {self._path!r} is not open")
        return self._client
