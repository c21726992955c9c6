"""A log and a store of each kind, fresh for one test, reached behind the effector's back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from beam_agents.effector.backends.pubsub_messages import from_message, to_message
from beam_agents.embedded import EmbeddedBus
from tests.bigtable_tables import INSTANCE, Tables
from tests.bigtable_tables import PROJECT as BIGTABLE_PROJECT
from tests.integration import kafka_topics
from tests.integration.kafka_topics import TopicReader
from tests.integration.obituary_proxy import ObituaryProxy
from tests.pubsub_topics import PROJECT, Topics


class Answer(NamedTuple):
    """A record of the results topic."""

    key: bytes | None
    value: bytes


class Log(ABC):
    """An intents topic and a results topic.

    Attributes:
        intents_from: Where effectors read.
        results_to: Where they publish.
        environment: What they need beside that, known once the topics are made.
    """

    intents_from: str
    results_to: str
    environment: Mapping[str, str]

    @abstractmethod
    async def create(self) -> None:
        """Make both topics."""

    @abstractmethod
    async def ask(self, intents: Sequence[tuple[bytes, bytes]]) -> None:
        """Append keys and values to the intents topic, in order within a key."""

    @abstractmethod
    async def answers(self) -> list[Answer]:
        """All records of the results topic that are there now."""

    async def aclose(self) -> None:
        """Close what the log opened."""
        return


class KafkaLog(Log):
    def __init__(self, hosts: str, run: str) -> None:
        self._hosts = hosts
        self._intents, self._results = f"{run}-intents", f"{run}-results"
        self.intents_from = f"kafka://{hosts}/{self._intents}"
        self.results_to = f"kafka://{hosts}/{self._results}"
        self.environment = {"EFFECTOR_CONSUMER_GROUP": run}

    async def create(self) -> None:
        await kafka_topics.create_topics(self._hosts, self._intents, self._results)

    async def ask(self, intents: Sequence[tuple[bytes, bytes]]) -> None:
        await kafka_topics.publish(self._hosts, self._intents, intents)

    async def answers(self) -> list[Answer]:
        async with TopicReader(self._hosts, self._results) as reader:
            return [Answer(each.key, each.value) for each in await reader.read_to_the_end()]


class PubsubLog(Log):
    def __init__(self, emulator: str, run: str) -> None:
        self._topics = Topics(emulator)
        self._intents, self._results = f"{run}-intents", f"{run}-results"
        # The shortest lease that Pub/Sub knows: for so long a killed worker's are its own.
        self.intents_from = f"pubsub://{PROJECT}/{self._intents}?lease_ms=10000"
        self.results_to = f"pubsub://{PROJECT}/{self._results}"
        self._proxy = ObituaryProxy(emulator)
        self._read: list[Answer] = []

    async def create(self) -> None:
        self.environment = {"PUBSUB_EMULATOR_HOST": await self._proxy.start()}
        for topic in (self._intents, self._results):
            await self._topics.create(topic)
            await self._topics.subscribe(topic, topic)

    async def ask(self, intents: Sequence[tuple[bytes, bytes]]) -> None:
        messages = [to_message(key, value, ()) for key, value in intents]
        await self._topics.publish(self._intents, messages)

    async def answers(self) -> list[Answer]:
        for message in await self._topics.take(self._results):
            key, value, _ = from_message(message.ordering_key, message.data, message.attributes)
            self._read.append(Answer(key, value or b""))
        return self._read

    async def aclose(self) -> None:
        await self._proxy.aclose()
        await self._topics.aclose()


class SqliteLog(Log):
    def __init__(self, folder: Path) -> None:
        self._path = folder / "bus.db"
        self.intents_from = f"sqlite:///{self._path}?topic=intents&lease_ms=2000"
        self.results_to = f"sqlite:///{self._path}?topic=results"
        self.environment = {}

    async def create(self) -> None:
        """Topics of a bus are there as soon as they are named."""

    async def ask(self, intents: Sequence[tuple[bytes, bytes]]) -> None:
        with EmbeddedBus(self._path) as bus:
            for key, value in intents:
                bus.publish("intents", key=key, value=value)

    async def answers(self) -> list[Answer]:
        with EmbeddedBus(self._path) as bus:
            return [Answer(each.key, each.value or b"") for each in bus.records("results")]


class Store(NamedTuple):
    """A dedup store, and what effectors need to reach it."""

    uri: str
    environment: Mapping[str, str]


def redis_store(url: str) -> Store:
    return Store(url, {})


def sqlite_store(folder: Path) -> Store:
    return Store(f"sqlite:///{folder / 'dedup.db'}", {})


def bigtable_store(emulator: str, run: str) -> Store:
    Tables(emulator).create(run)
    uri = f"bigtable://{BIGTABLE_PROJECT}/{INSTANCE}/{run}"
    return Store(uri, {"BIGTABLE_EMULATOR_HOST": emulator})
