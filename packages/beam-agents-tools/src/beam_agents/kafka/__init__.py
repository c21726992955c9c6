"""What pipelines and effectors share about Kafka; the client comes with the extra `kafka`."""

from beam_agents.kafka.errors import BrokerUnreachable, KafkaRefusal, UnknownTopic, UnusableFiles
from beam_agents.kafka.security import KafkaSecurity

__all__ = [
    "BrokerUnreachable",
    "KafkaRefusal",
    "KafkaSecurity",
    "UnknownTopic",
    "UnusableFiles",
]
