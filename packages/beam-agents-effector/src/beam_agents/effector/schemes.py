"""Which URI leads to which backend; the one place that imports them, and only when asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Generic, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from beam_agents.effector.backends.redis_parameters import RedisParameters
from beam_agents.effector.errors import MissingExtra, OperatorError
from beam_agents.effector.ports import Browser, DedupStore, Sink, Source
from beam_agents.effector.sqlite_paths import path_mistake
from beam_agents.intents.topics import TopicUri, UriError, mask_uri
from beam_agents.kafka import KafkaSecurity

# A store call that takes longer counts as unanswered. Leases are renewed every third of
# their length, so this bounds how short a lease may be.
STORE_CALL_TIMEOUT_MS = 1_500

_INSTANCE_AND_TABLE = re.compile("/[^/]+/[^/]+")

_TOPIC_PARAMETERS = {
    "kafka": {"group", "session_timeout_ms"},
    "pubsub": {"lease_ms"},
    "sqlite": {"group", "lease_ms"},
}
# From below, what a server allows; from above, that too, or what a takeover may wait.
_DURATIONS_MS = {
    ("kafka", "session_timeout_ms"): (500, 300_000),
    ("pubsub", "lease_ms"): (10_000, 600_000),
    ("sqlite", "lease_ms"): (1, 300_000),
}

_Port = TypeVar("_Port")


@dataclass(frozen=True, slots=True)
class Connections:
    """What backends need beside their URI."""

    consumer_group: str
    result_ttl_ms: int
    max_clock_skew_ms: int = 5_000
    kafka: KafkaSecurity = field(default_factory=KafkaSecurity)
    redis_username: str | None = None
    redis_password: str | None = field(default=None, repr=False)
    redis_ca_file: str | None = None


@dataclass(frozen=True, slots=True)
class Scheme(Generic[_Port]):
    """One way to fill a port.

    Attributes:
        form: How its URIs are written.
        open: Makes the adapter; imports the client library, and connects nothing.
        client: The module of the client library.
        extra: What installs the client library.
    """

    form: str
    open: Callable[[str, Connections], _Port]
    client: str = ""
    extra: str = ""


def open_source(uri: str, connections: Connections) -> Source:
    """Make the source that a URI names.

    Raises:
        OperatorError: The URI is wrong, or its client library is not installed.
    """
    return _scheme(SOURCES, uri).open(uri, connections)


def open_sink(uri: str, connections: Connections) -> Sink:
    """Make the sink that a URI names; raises as `open_source` does."""
    return _scheme(SINKS, uri).open(uri, connections)


def open_browser(uri: str, connections: Connections) -> Browser:
    """Make what looks through the topic that a URI names; raises as `open_source` does."""
    return _scheme(BROWSERS, uri).open(uri, connections)


def open_store(uri: str, connections: Connections) -> DedupStore:
    """Make the dedup store that a URI names; raises as `open_source` does."""
    return _scheme(STORES, uri).open(uri, connections)


def topic_mistake(uri: str) -> str | None:
    """Say what is wrong with the URI of a topic, if anything is; imports no backend."""
    try:
        _scheme(SINKS, uri)
        topic = TopicUri.parse(uri)
    except (OperatorError, UriError) as error:
        return str(error)
    unknown = sorted(set(topic.params) - _TOPIC_PARAMETERS[topic.scheme])
    if unknown:
        return f"{mask_uri(uri)!r} has an unknown parameter {unknown[0]!r}"
    for (scheme, name), (least, most) in _DURATIONS_MS.items():
        text = topic.params.get(name, str(least)) if scheme == topic.scheme else str(least)
        if not (text.isdecimal() and least <= int(text) <= most):
            return (
                f"{mask_uri(uri)!r}: {name} must be a whole number of milliseconds "
                f"from {least} to {most}"
            )
    return _sqlite_mistake(uri, topic.path) if topic.scheme == "sqlite" else None


def store_mistake(uri: str) -> str | None:
    """Say what is wrong with the URI of a dedup store, if anything is; imports no backend."""
    try:
        scheme = _scheme(STORES, uri)
        parts = urlsplit(uri)
        _ = parts.port  # raises where there can be no such port
        malformed = not _STORE_FORMS[parts.scheme](parts.netloc, parts.path)
    except OperatorError as error:
        return str(error)
    except ValueError:  # its text repeats what may be part of a password
        malformed = True
    if malformed:
        return f"{mask_uri(uri)!r} is not of the form {scheme.form}"
    unknown = dict(parse_qsl(parts.query, keep_blank_values=True)).keys() - {"app_profile"}
    if parts.scheme == "bigtable" and unknown:
        return f"{mask_uri(uri)!r} has an unknown parameter {min(unknown)!r}"
    if parts.scheme in ("redis", "rediss"):
        try:
            RedisParameters.of(uri)
        except ValueError as error:
            return f"{mask_uri(uri)!r}: {error}"
    return _sqlite_mistake(uri, _sqlite_path(uri)) if parts.scheme == "sqlite" else None


def _sqlite_mistake(uri: str, path: str) -> str | None:
    mistake = path_mistake(path)
    return None if mistake is None else f"{mask_uri(uri)!r}: {mistake}"


def _sqlite_path(uri: str) -> str:
    return unquote(urlsplit(uri).path).removeprefix("/")


def _scheme(table: Mapping[str, Scheme[_Port]], uri: str) -> Scheme[_Port]:
    name = uri.partition("://")[0]
    scheme = table.get(name)
    if scheme is None:
        forms = ", ".join(known.form for known in table.values())
        raise OperatorError(f"{mask_uri(uri)!r} has no scheme known here: use one of {forms}")
    if scheme.client and not is_installed(scheme.client):
        raise MissingExtra(name, scheme.extra)
    return scheme


def is_installed(module: str) -> bool:
    """Whether a module of another distribution is there; does not import it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package that it would be in is not there either
        return False


def _kafka_source(uri: str, connections: Connections) -> Source:
    from beam_agents.effector.backends.kafka_source import KAFKA_SESSION_TIMEOUT_MS, KafkaSource

    topic = TopicUri.parse(uri)
    group = topic.params.get("group", connections.consumer_group)
    session_timeout_ms = int(topic.params.get("session_timeout_ms", KAFKA_SESSION_TIMEOUT_MS))
    return KafkaSource(
        topic.hosts,
        topic.topic,
        group=group,
        security=connections.kafka,
        session_timeout_ms=session_timeout_ms,
    )


def _kafka_sink(uri: str, connections: Connections) -> Sink:
    from beam_agents.effector.backends.kafka_sink import KafkaSink

    topic = TopicUri.parse(uri)
    return KafkaSink(topic.hosts, topic.topic, security=connections.kafka)


def _kafka_browser(uri: str, connections: Connections) -> Browser:
    from beam_agents.effector.backends.kafka_browser import KafkaBrowser

    topic = TopicUri.parse(uri)
    return KafkaBrowser(topic.hosts, topic.topic, security=connections.kafka)


def _pubsub_source(uri: str, _: Connections) -> Source:
    from beam_agents.effector.backends.pubsub_source import DEFAULT_LEASE_MS, PubsubSource

    topic = TopicUri.parse(uri)
    lease_ms = int(topic.params.get("lease_ms", DEFAULT_LEASE_MS))
    return PubsubSource(topic.hosts[0], topic.topic, lease_ms=lease_ms)


def _pubsub_sink(uri: str, _: Connections) -> Sink:
    from beam_agents.effector.backends.pubsub_sink import PubsubSink

    topic = TopicUri.parse(uri)
    return PubsubSink(topic.hosts[0], topic.topic)


def _sqlite_browser(uri: str, _: Connections) -> Browser:
    from beam_agents.effector.backends.sqlite_browser import SqliteBrowser

    topic = TopicUri.parse(uri)
    return SqliteBrowser(topic.path, topic.topic)


def _sqlite_source(uri: str, connections: Connections) -> Source:
    from beam_agents.effector.backends.sqlite_source import SqliteSource
    from beam_agents.embedded import DEFAULT_LEASE_MS

    topic = TopicUri.parse(uri)
    group = topic.params.get("group", connections.consumer_group)
    lease_ms = int(topic.params.get("lease_ms", DEFAULT_LEASE_MS))
    return SqliteSource(topic.path, topic.topic, group=group, lease_ms=lease_ms)


def _sqlite_sink(uri: str, _: Connections) -> Sink:
    from beam_agents.effector.backends.sqlite_sink import SqliteSink

    topic = TopicUri.parse(uri)
    return SqliteSink(topic.path, topic.topic)


def _memory_store(_: str, connections: Connections) -> DedupStore:
    from beam_agents.effector.backends.memory_store import MemoryStore

    return MemoryStore(result_ttl_ms=connections.result_ttl_ms)


def _sqlite_store(uri: str, connections: Connections) -> DedupStore:
    from beam_agents.effector.backends.sqlite_store import SqliteStore

    return SqliteStore(
        _sqlite_path(uri),
        result_ttl_ms=connections.result_ttl_ms,
        call_timeout_ms=STORE_CALL_TIMEOUT_MS,
    )


def _redis_store(uri: str, connections: Connections) -> DedupStore:
    from beam_agents.effector.backends.redis_store import RedisStore

    return RedisStore(
        uri,
        result_ttl_ms=connections.result_ttl_ms,
        username=connections.redis_username,
        password=connections.redis_password,
        ca_file=connections.redis_ca_file,
        call_timeout_ms=STORE_CALL_TIMEOUT_MS,
    )


def _bigtable_store(uri: str, connections: Connections) -> DedupStore:
    from beam_agents.effector.backends.bigtable_store import BigtableStore
    from beam_agents.effector.backends.bigtable_table import TableName

    parts = urlsplit(uri)
    _, instance, table = parts.path.split("/")
    profile = dict(parse_qsl(parts.query)).get("app_profile")
    return BigtableStore(
        TableName(parts.netloc, instance, table, profile),
        result_ttl_ms=connections.result_ttl_ms,
        max_clock_skew_ms=connections.max_clock_skew_ms,
        call_timeout_ms=STORE_CALL_TIMEOUT_MS,
    )


_KAFKA_FORM = "kafka://host:9092/topic"
_PUBSUB_CLIENT = "google.cloud.pubsub_v1"
_SQLITE_FORM = "sqlite:///file.db?topic=name"

SOURCES: Mapping[str, Scheme[Source]] = {
    "kafka": Scheme(_KAFKA_FORM, _kafka_source, client="aiokafka", extra="kafka"),
    "pubsub": Scheme(
        "pubsub://project/subscription", _pubsub_source, client=_PUBSUB_CLIENT, extra="pubsub"
    ),
    "sqlite": Scheme(_SQLITE_FORM, _sqlite_source),
}
SINKS: Mapping[str, Scheme[Sink]] = {
    "kafka": Scheme(_KAFKA_FORM, _kafka_sink, client="aiokafka", extra="kafka"),
    "pubsub": Scheme("pubsub://project/topic", _pubsub_sink, client=_PUBSUB_CLIENT, extra="pubsub"),
    "sqlite": Scheme(_SQLITE_FORM, _sqlite_sink),
}
BROWSERS: Mapping[str, Scheme[Browser]] = {
    "kafka": Scheme(_KAFKA_FORM, _kafka_browser, client="aiokafka", extra="kafka"),
    "sqlite": Scheme(_SQLITE_FORM, _sqlite_browser),
}
STORES: Mapping[str, Scheme[DedupStore]] = {
    "redis": Scheme("redis://host:6379/0", _redis_store, client="redis", extra="redis"),
    "rediss": Scheme("rediss://host:6379/0", _redis_store, client="redis", extra="redis"),
    "bigtable": Scheme(
        "bigtable://project/instance/table",
        _bigtable_store,
        client="google.cloud.bigtable",
        extra="bigtable",
    ),
    "sqlite": Scheme("sqlite:///file.db", _sqlite_store),
    "memory": Scheme("memory://", _memory_store),
}


def _is_redis_database(path: str) -> bool:
    return path in ("", "/") or path[1:].isdecimal()


_STORE_FORMS: Mapping[str, Callable[[str, str], bool]] = {
    "redis": lambda netloc, path: bool(netloc) and _is_redis_database(path),
    "rediss": lambda netloc, path: bool(netloc) and _is_redis_database(path),
    "bigtable": lambda netloc, path: bool(netloc) and bool(_INSTANCE_AND_TABLE.fullmatch(path)),
    "sqlite": lambda netloc, path: not netloc and path not in ("", "/", "/:memory:"),
    "memory": lambda netloc, path: not path,
}
