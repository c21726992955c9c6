"""Which topics can be read and written, by the scheme of their URI."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import NoReturn

from beam_agents.core.errors import PipelineError
from beam_agents.intents.topics import TopicUri, UriError, mask_uri
from beam_agents.io import sqlite
from beam_agents.io.address import TopicAddress
from beam_agents.io.logs import LogReader, TopicWriter

READER_PARAMS = ("group", "idle_after_ms")
DEFAULT_IDLE_AFTER_MS = 5_000


@dataclass(frozen=True)
class Scheme:
    """How the topics of one scheme are opened.

    Attributes:
        partitions: Lists the partitions of a topic.
        reader: Opens one of them.
        writer: Opens a topic for writing.
        instead: What reads its topics, where we do not.
        client: The module of the client library, and the extra that installs it.
    """

    partitions: Callable[[TopicAddress], Sequence[int]]
    reader: Callable[[TopicAddress, int], LogReader]
    writer: Callable[[TopicAddress], TopicWriter]
    client: tuple[str, str] | None = None
    instead: str = ""


def check_reader(text: str) -> str:
    """Return the URI if its topic can be read; for constructors, where mistakes are made.

    Raises:
        UriError: Saying what is supported.
        PipelineError: An extra is missing.
    """
    uri = _checked(text, READER_PARAMS)
    idle_after_ms(uri)
    if instead := _SCHEMES[uri.scheme].instead:
        raise UriError(f"{mask_uri(text)!r} can be written only; to read it, {instead}")
    return text


def check_writer(text: str) -> str:
    """Return the URI if its topic can be written; raises as `check_reader` does."""
    _checked(text, ())
    return text


def partitions(address: TopicAddress) -> Sequence[int]:
    """List the partitions of a topic."""
    return _scheme(address).partitions(address)


def open_reader(address: TopicAddress, partition: int) -> LogReader:
    """Open one partition of a topic for reading."""
    return _scheme(address).reader(address, partition)


def open_writer(address: TopicAddress) -> TopicWriter:
    """Open a topic for writing; the same writer again for the same use of it.

    Some runners make their steps anew for every bundle, so writers are the process's.
    """
    with _opening:
        if address.use not in _writers:
            _writers[address.use] = _scheme(address).writer(address)
        return _writers[address.use]


def idle_after_ms(uri: TopicUri) -> int:
    """Return after how long at the end of its log a source's watermark follows the clock."""
    text = uri.params.get("idle_after_ms", str(DEFAULT_IDLE_AFTER_MS))
    if not (text.isascii() and text.isdigit()):
        raise UriError(f"idle_after_ms must be a number of milliseconds, not {text!r}")
    return int(text)


def _checked(text: str, params: tuple[str, ...]) -> TopicUri:
    uri = TopicUri.parse(text)
    scheme = _SCHEMES.get(uri.scheme)
    if scheme is None:
        raise UriError(
            f"{mask_uri(text)!r} cannot be used in a pipeline: supported are "
            + ", ".join(f"{name}://" for name in _SCHEMES)
        )
    unknown = sorted(uri.params.keys() - set(params))
    if unknown:
        known = ", ".join(params) or "none"
        raise UriError(f"{mask_uri(text)!r} has unknown parameters {unknown}; known are: {known}")
    if scheme.client is not None and not _is_installed(scheme.client[0]):
        extra = scheme.client[1]
        raise PipelineError(
            f"{uri.scheme}:// needs the extra {extra!r}: pip install 'beam-agents-core[{extra}]'"
        )
    return uri


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent is not there, either
        return False


def _scheme(address: TopicAddress) -> Scheme:
    return _SCHEMES[address.uri.scheme]


def _kafka_partitions(address: TopicAddress) -> Sequence[int]:
    from beam_agents.io import kafka_access

    return kafka_access.partitions(address)


def _kafka_reader(address: TopicAddress, partition: int) -> LogReader:
    from beam_agents.io.kafka_reader import KafkaReader

    return KafkaReader(address, partition)


def _kafka_writer(address: TopicAddress) -> TopicWriter:
    from beam_agents.io.kafka_writer import KafkaWriter

    return KafkaWriter(address)


def _unread(*_: object) -> NoReturn:
    raise TypeError("check_reader lets no such topic pass")


def _pubsub_writer(address: TopicAddress) -> TopicWriter:
    from beam_agents.io.pubsub_writer import PubsubWriter

    return PubsubWriter(address)


_SCHEMES: Mapping[str, Scheme] = {
    "sqlite": Scheme(sqlite.partitions, sqlite.SqliteReader, sqlite.SqliteWriter),
    "kafka": Scheme(_kafka_partitions, _kafka_reader, _kafka_writer, client=("aiokafka", "kafka")),
    "pubsub": Scheme(
        _unread,
        _unread,
        _pubsub_writer,
        client=("google.cloud.pubsub_v1", "pubsub"),
        instead="apply Beam's ReadFromPubSub and one of our …ToEnvelopes",
    ),
}
_writers: dict[str, TopicWriter] = {}
_opening = threading.Lock()
