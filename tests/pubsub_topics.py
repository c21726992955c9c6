"""Topics and subscriptions on a Pub/Sub emulator, made, written and read for a test."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import grpc
from google.pubsub_v1 import PublisherAsyncClient, SubscriberAsyncClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport
from google.pubsub_v1.types import DeadLetterPolicy, PubsubMessage, Subscription

PROJECT = "beam-agents"
_MOST = 1_000


class Topics:
    """The topics of one emulator."""

    def __init__(self, emulator: str) -> None:
        self._channel = grpc.aio.insecure_channel(emulator)
        self._publisher = PublisherAsyncClient(
            transport=PublisherGrpcAsyncIOTransport(channel=self._channel)
        )
        self._subscriber = SubscriberAsyncClient(
            transport=SubscriberGrpcAsyncIOTransport(channel=self._channel)
        )

    async def create(self, topic: str) -> None:
        await self._publisher.create_topic(name=_topic(topic))

    async def subscribe(
        self,
        subscription: str,
        topic: str,
        *,
        ordered: bool = True,
        dead_letter_topic: str | None = None,
    ) -> None:
        policy = None
        if dead_letter_topic is not None:
            policy = DeadLetterPolicy(
                dead_letter_topic=_topic(dead_letter_topic), max_delivery_attempts=5
            )
        await self._subscriber.create_subscription(
            Subscription(
                name=_subscription(subscription),
                topic=_topic(topic),
                enable_message_ordering=ordered,
                ack_deadline_seconds=10,
                dead_letter_policy=policy,
            )
        )

    async def unsubscribe(self, subscription: str) -> None:
        await self._subscriber.delete_subscription(subscription=_subscription(subscription))

    async def publish(self, topic: str, messages: Sequence[PubsubMessage]) -> None:
        """Append messages; one request takes those of one key only."""
        for _, group in groupby(messages, key=lambda message: message.ordering_key):
            same = list(group)
            for start in range(0, len(same), _MOST):
                await self._publisher.publish(
                    topic=_topic(topic), messages=same[start : start + _MOST]
                )

    async def take(self, subscription: str) -> list[PubsubMessage]:
        """Take all that a subscription has now, in the order of each key."""
        taken: list[PubsubMessage] = []
        path = _subscription(subscription)
        while True:
            request = {"subscription": path, "max_messages": _MOST, "return_immediately": True}
            received = (await self._subscriber.pull(request)).received_messages
            if not received:
                return taken
            taken += [each.message for each in received]
            ack_ids = [each.ack_id for each in received]
            await self._subscriber.acknowledge(subscription=path, ack_ids=ack_ids)

    async def aclose(self) -> None:
        await self._channel.close()


def _topic(name: str) -> str:
    return f"projects/{PROJECT}/topics/{name}"


def _subscription(name: str) -> str:
    return f"projects/{PROJECT}/subscriptions/{name}"
