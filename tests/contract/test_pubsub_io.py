"""Topics of the Pub/Sub emulator, as pipelines write them."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from google.cloud.pubsub_v1 import PublisherClient, SubscriberClient

from beam_agents.intents.topics import TYPE_HEADER
from beam_agents.io.address import TopicAddress
from beam_agents.io.errors import TopicUnavailable
from beam_agents.io.pubsub_writer import PubsubWriter
from beam_agents.io.records import OutboundRecord
from beam_agents.pubsub import MAX_MESSAGE_BYTES

PROJECT = "beam-agents"


class Topic:
    """A topic, and a subscription that keeps the order of its keys."""

    def __init__(self) -> None:
        self.name = f"io-{uuid4().hex}"
        self.address = TopicAddress(f"pubsub://{PROJECT}/{self.name}")
        self._path = f"projects/{PROJECT}/topics/{self.name}"
        self._subscription = f"projects/{PROJECT}/subscriptions/{self.name}"
        with PublisherClient() as publisher:
            publisher.create_topic(name=self._path)
        with SubscriberClient() as subscriber:
            subscriber.create_subscription(
                request={
                    "name": self._subscription,
                    "topic": self._path,
                    "enable_message_ordering": True,
                }
            )

    def take(self, count: int) -> list[tuple[str, bytes, dict[str, str]]]:
        """Pull so many messages: ordering key, data and attributes."""
        taken: list[Any] = []
        with SubscriberClient() as subscriber:
            while len(taken) < count:
                response = subscriber.pull(subscription=self._subscription, max_messages=count)
                taken += [each.message for each in response.received_messages]
                subscriber.acknowledge(
                    subscription=self._subscription,
                    ack_ids=[each.ack_id for each in response.received_messages],
                )
        return [(each.ordering_key, each.data, dict(each.attributes)) for each in taken]


@pytest.fixture
def topic(pubsub_emulator: str, monkeypatch: pytest.MonkeyPatch) -> Topic:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", pubsub_emulator)
    return Topic()


def test_records_keep_the_order_of_their_key(topic: Topic) -> None:
    keys = [b"acct-1", b"\x00\xff"]
    records = [
        OutboundRecord(key, b"%d" % n, ((TYPE_HEADER, b"ToolIntent"),))
        for n in range(20)
        for key in keys
    ]

    PubsubWriter(topic.address).write(records)

    taken = topic.take(len(records))
    for key in keys:
        of_key = [data for ordering_key, data, _ in taken if ordering_key == key.hex()]
        assert of_key == [b"%d" % n for n in range(20)]
    assert all(attributes == {TYPE_HEADER: "ToolIntent"} for _, _, attributes in taken)


def test_a_write_that_fails_holds_no_later_one_back(topic: Topic) -> None:
    writer = PubsubWriter(topic.address)

    with pytest.raises(TopicUnavailable, match=topic.name):
        writer.write([OutboundRecord(b"k", b"x" * (MAX_MESSAGE_BYTES + 1))])
    writer.write([OutboundRecord(b"k", b"again")])

    assert [data for _, data, _ in topic.take(1)] == [b"again"]


def test_a_topic_that_is_not_there_is_named(topic: Topic) -> None:
    with pytest.raises(TopicUnavailable, match="cannot write 'pubsub://beam-agents/none'"):
        PubsubWriter(TopicAddress("pubsub://beam-agents/none"))
