"""Reaching a Kafka cluster, in the effector's own words where that fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from beam_agents.effector.errors import BackendUnavailable, OperatorError, TopicMissing
from beam_agents.kafka import BrokerUnreachable, KafkaSecurity, UnknownTopic, UnusableFiles
from beam_agents.kafka import connection as kafka_connection

# How long one publish or commit waits: aiokafka would wait for the broker for ever, and
# whoever called it would not hear that it is away.
ANSWER_TIMEOUT_S = 10.0


async def connected_arguments(
    hosts: Sequence[str], topic: str, security: KafkaSecurity
) -> dict[str, Any]:
    """Check that the cluster lets us in and has the topic; return an aiokafka client's arguments.

    Raises:
        BackendUnavailable: No broker lets us in; with each one's reason.
        TopicMissing: The topic does not exist, or may not be seen.
        OperatorError: A certificate or key file cannot be used.
    """
    try:
        return await kafka_connection.connected_arguments(
            hosts, topic, security, protocol_setting="EFFECTOR_KAFKA_SECURITY_PROTOCOL"
        )
    except BrokerUnreachable as error:
        raise BackendUnavailable(str(error)) from error
    except UnknownTopic as error:
        raise TopicMissing(str(error)) from error
    except UnusableFiles as error:
        raise OperatorError(str(error)) from error
