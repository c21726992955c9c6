"""What pipelines and effectors share about Pub/Sub: how a record is a message."""

from beam_agents.pubsub.messages import (
    MAX_MESSAGE_BYTES,
    MAX_ORDERING_KEY_BYTES,
    MessageParts,
    from_message,
    to_parts,
)

__all__ = [
    "MAX_MESSAGE_BYTES",
    "MAX_ORDERING_KEY_BYTES",
    "MessageParts",
    "from_message",
    "to_parts",
]
