from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec

import pytest

from beam_agents.effector import schemes
from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.backends.sqlite_sink import SqliteSink
from beam_agents.effector.backends.sqlite_source import SqliteSource
from beam_agents.effector.backends.sqlite_store import SqliteStore
from beam_agents.effector.errors import MissingExtra, OperatorError
from beam_agents.effector.schemes import (
    Connections,
    open_sink,
    open_source,
    open_store,
    store_mistake,
    topic_mistake,
)

CONNECTIONS = Connections(consumer_group="effector", result_ttl_ms=1_000)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without any extra."""

    def find_spec(name: str) -> ModuleSpec | None:
        if name.startswith("google.cloud."):
            raise ModuleNotFoundError(name)  # as where `google.cloud` is missing, too
        return None if name in ("aiokafka", "redis") else importlib.util.find_spec(name)

    monkeypatch.setattr(schemes, "find_spec", find_spec)


async def test_a_uri_leads_to_its_backend() -> None:
    topic = "sqlite:///bus.db?topic=intents"

    assert isinstance(open_source(topic, CONNECTIONS), SqliteSource)
    assert isinstance(open_sink(topic, CONNECTIONS), SqliteSink)
    assert isinstance(open_store("sqlite:///dedup.db", CONNECTIONS), SqliteStore)
    assert isinstance(open_store("memory://", CONNECTIONS), MemoryStore)


async def test_clients_come_with_their_extra() -> None:
    from beam_agents.effector.backends.bigtable_store import BigtableStore
    from beam_agents.effector.backends.kafka_sink import KafkaSink
    from beam_agents.effector.backends.kafka_source import KafkaSource
    from beam_agents.effector.backends.pubsub_sink import PubsubSink
    from beam_agents.effector.backends.pubsub_source import PubsubSource
    from beam_agents.effector.backends.redis_store import RedisStore

    topic = "kafka://one:9092,two:9092/intents"

    assert isinstance(open_source(topic, CONNECTIONS), KafkaSource)
    assert isinstance(open_sink(topic, CONNECTIONS), KafkaSink)
    assert isinstance(open_source("pubsub://project/subscription", CONNECTIONS), PubsubSource)
    assert isinstance(open_sink("pubsub://project/topic", CONNECTIONS), PubsubSink)
    assert isinstance(open_store("redis://redis:6379/0", CONNECTIONS), RedisStore)
    assert isinstance(open_store("rediss://redis:6379/0", CONNECTIONS), RedisStore)
    assert isinstance(open_store("bigtable://project/instance/table", CONNECTIONS), BigtableStore)


@pytest.mark.usefixtures("bare")
def test_a_missing_extra_is_named_with_how_to_install_it() -> None:
    assert topic_mistake("kafka://broker:9092/intents") == (
        "kafka:// needs the extra 'kafka': pip install 'beam-agents-effector[kafka]'"
    )
    assert store_mistake("rediss://redis") == (
        "rediss:// needs the extra 'redis': pip install 'beam-agents-effector[redis]'"
    )
    assert store_mistake("bigtable://project/instance/table") == (
        "bigtable:// needs the extra 'bigtable': pip install 'beam-agents-effector[bigtable]'"
    )
    with pytest.raises(MissingExtra):
        open_store("redis://redis", CONNECTIONS)


@pytest.mark.usefixtures("bare")
def test_sqlite_and_memory_need_no_extra() -> None:
    assert topic_mistake("sqlite:///bus.db?topic=intents") is None
    assert store_mistake("sqlite:///dedup.db") is None
    assert store_mistake("memory://") is None


def test_an_unknown_scheme_lists_the_known_ones() -> None:
    assert topic_mistake("amqp://broker/intents") == (
        "'amqp://broker/intents' has no scheme known here: use one of "
        "kafka://host:9092/topic, pubsub://project/topic, sqlite:///file.db?topic=name"
    )
    assert store_mistake("postgres://db") == (
        "'postgres://db' has no scheme known here: use one of redis://host:6379/0, "
        "rediss://host:6379/0, bigtable://project/instance/table, sqlite:///file.db, memory://"
    )
    with pytest.raises(OperatorError, match="no scheme known here"):
        open_source("memory://intents", CONNECTIONS)


@pytest.mark.parametrize(
    "uri",
    [
        "kafka://broker:9092",
        "kafka:///intents",
        "kafka://broker:9092/a/b",
        "kafka://alice:s3cret@broker:9092/intents",
        "sqlite:///bus.db",
        "sqlite://bus.db?topic=intents",
        "intents",
        "",
    ],
)
def test_a_topic_uri_of_another_form_is_refused(uri: str) -> None:
    mistake = topic_mistake(uri)

    assert mistake is not None
    assert "kafka://" in mistake or "sqlite:///" in mistake
    assert "s3cret" not in mistake


def test_a_parameter_that_means_nothing_is_refused() -> None:
    assert topic_mistake("kafka://broker/intents?group=g") is None
    assert topic_mistake("kafka://broker/intents?grup=g") == (
        "'kafka://broker/intents?grup=g' has an unknown parameter 'grup'"
    )
    assert topic_mistake("kafka://broker/intents?lease_ms=5") is not None
    assert store_mistake("bigtable://project/instance/table?app_profile=one") is None
    assert store_mistake("bigtable://project/instance/table?app_profil=one") == (
        "'bigtable://project/instance/table?app_profil=one' has an unknown parameter 'app_profil'"
    )


@pytest.mark.parametrize(
    "uri",
    ["sqlite:///bus.db?topic=intents&lease_ms=", "kafka://broker/intents?session_timeout_ms="],
)
def test_how_long_a_silent_worker_keeps_its_partitions_is_bounded(uri: str) -> None:
    assert topic_mistake(f"{uri}5000") is None
    for nonsense in ("0", "-1", "5s", "", "300001"):
        mistake = topic_mistake(f"{uri}{nonsense}")
        assert mistake is not None
        assert "_ms must be a whole number of milliseconds from " in mistake


@pytest.mark.parametrize(
    "uri",
    [
        "sqlite://dedup.db",
        "sqlite:///",
        "redis://",
        "redis:6379",
        "bigtable://project/instance",
        "bigtable:///instance/table",
        "bigtable://project/instance/table/more",
        "redis://host:99999",
        "redis://host/orders",
    ],
)
def test_a_store_uri_of_another_form_is_refused(uri: str) -> None:
    assert store_mistake(uri) is not None


@pytest.mark.parametrize("uri", ["redis://:hunter2/x@host/0", "redis://u:hunter2\u2100@host/0"])
def test_a_mistake_in_a_stores_uri_repeats_no_password(uri: str) -> None:
    mistake = store_mistake(uri)

    assert mistake is not None
    assert "is not of the form redis://host:6379/0" in mistake
    assert "hunter2" not in mistake


def test_a_store_in_memory_is_not_taken_for_a_file() -> None:
    assert store_mistake("sqlite:///:memory:") is not None
