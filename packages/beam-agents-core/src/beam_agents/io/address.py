"""Where a topic is, and how to log in there: what travels with a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import uuid4

from beam_agents.intents.topics import TopicUri, mask_uri
from beam_agents.kafka import KafkaSecurity

# A value is pickled into the pipeline, password and all; a callable is asked on each worker.
Credentials: TypeAlias = KafkaSecurity | Callable[[], KafkaSecurity]


@dataclass(frozen=True, repr=False)
class TopicAddress:
    """A topic, as one transform of a pipeline uses it.

    Attributes:
        text: Its URI.
        credentials: How to log in to Kafka; None for a broker that asks for nothing.
        use: Names this use of the topic, wherever the transform is unpickled.
    """

    text: str
    credentials: Credentials | None = None
    use: str = field(default_factory=lambda: uuid4().hex)

    def __str__(self) -> str:
        return mask_uri(self.text)

    @property
    def uri(self) -> TopicUri:
        """The URI's parts."""
        return TopicUri.parse(self.text)

    def security(self) -> KafkaSecurity:
        """Return how to log in, asking for it where it is a callable."""
        if callable(self.credentials):
            return self.credentials()
        return self.credentials or KafkaSecurity()
