"""Why a topic of a Kafka cluster cannot be reached."""

from __future__ import annotations


class KafkaRefusal(Exception):
    """Root of what keeps us from a topic. The message is one line that a person can act on."""


class BrokerUnreachable(KafkaRefusal, ConnectionError):
    """No broker lets us in; the message has each one's reason."""


class UnknownTopic(KafkaRefusal):
    """The topic is not there, and is not made in passing: its partitions are a decision."""


class UnusableFiles(KafkaRefusal):
    """A certificate or key file cannot be used."""
