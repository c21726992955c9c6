"""Reaching a Kafka topic from a pipeline, or saying in one line why not."""

from __future__ import annotations

from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from beam_agents.io import kafka_thread
from beam_agents.io.address import TopicAddress
from beam_agents.io.errors import TopicUnavailable
from beam_agents.kafka import KafkaRefusal
from beam_agents.kafka.connection import connected_arguments


async def client_arguments(address: TopicAddress) -> dict[str, Any]:
    """Check that the topic is there and open to us; return an aiokafka client's arguments.

    Raises:
        TopicUnavailable: With the real reason.
    """
    uri = address.uri
    try:
        return await connected_arguments(
            uri.hosts, uri.topic, address.security(), protocol_setting="KafkaSecurity.protocol"
        )
    except KafkaRefusal as error:
        raise TopicUnavailable(f"{str(address)!r}: {error}") from error


def partitions(address: TopicAddress) -> list[int]:
    """Return the numbers of a topic's partitions.

    Raises:
        TopicUnavailable: The topic is not there, or nobody lets us ask.
    """
    return kafka_thread.run(_partitions(address))


async def cluster_id(arguments: dict[str, Any]) -> str:
    """Return what names the cluster, by whatever address it is reached."""
    admin = AIOKafkaAdminClient(**arguments)
    try:
        await admin.start()
        return str((await admin.describe_cluster())["cluster_id"])
    finally:
        await admin.close()


async def _partitions(address: TopicAddress) -> list[int]:
    admin = AIOKafkaAdminClient(**await client_arguments(address))
    try:
        await admin.start()
        [topic] = await admin.describe_topics([address.uri.topic])
        return sorted(partition["partition"] for partition in topic["partitions"])
    except KafkaError as error:
        raise TopicUnavailable(f"cannot read {str(address)!r}: {error!r}") from error
    finally:
        await admin.close()
