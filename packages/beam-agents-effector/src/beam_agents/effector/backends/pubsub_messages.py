"""A record as a message of Google's client."""

from __future__ import annotations

from google.pubsub_v1.types import PubsubMessage

from beam_agents.effector.ports import Headers
from beam_agents.pubsub import MAX_MESSAGE_BYTES as MAX_MESSAGE_BYTES
from beam_agents.pubsub import MAX_ORDERING_KEY_BYTES as MAX_ORDERING_KEY_BYTES
from beam_agents.pubsub import from_message as from_message
from beam_agents.pubsub import to_parts


def to_message(key: bytes | None, value: bytes | None, headers: Headers) -> PubsubMessage:
    """Write a record as a message."""
    parts = to_parts(key, value, headers)
    return PubsubMessage(
        data=parts.data, attributes=parts.attributes, ordering_key=parts.ordering_key
    )
