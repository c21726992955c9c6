"""Topic URIs, and the header that names a record's message type."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from beam_agents.intents.masking import is_secret_parameter
from beam_agents.intents.masking import mask_uri as mask_uri

if TYPE_CHECKING:
    from google.protobuf.message import Message

# On every record that we write: the name of the message that its value holds.
TYPE_HEADER = "beam-agents-type"


def type_header(message_type: type[Message]) -> tuple[str, bytes]:
    """Return the header for records that hold this message."""
    return TYPE_HEADER, message_type.DESCRIPTOR.name.encode()


def declared_type(headers: Iterable[tuple[str, bytes]]) -> str | None:
    """Return the message type that a record declares; None where it says nothing.

    Readers refuse a record of another type, because one message can parse as
    another, and accept a record that declares none.
    """
    for name, value in headers:
        if name == TYPE_HEADER:
            return value.decode(errors="replace")
    return None


class UriError(ValueError):
    """A URI does not name what it should; the message masks its credentials."""


@dataclass(frozen=True, slots=True, repr=False)
class TopicUri:
    """Where the records of a topic are.

    Attributes:
        scheme: `memory`, `sqlite`, `kafka` or `pubsub`.
        hosts: `host:port` of each Kafka broker; for Pub/Sub the project; else empty.
        path: The file of an sqlite bus, relative or absolute; else empty.
        topic: The topic's name (in Pub/Sub the topic or subscription).
        params: The query, such as `group`; without sqlite's `topic`.
    """

    scheme: str
    hosts: tuple[str, ...]
    path: str
    topic: str
    params: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def parse(cls, text: str) -> TopicUri:
        """Read a topic URI.

        Raises:
            UriError: Saying what is missing, and how the scheme is written.
        """
        try:
            parts = urlsplit(text)
        except ValueError:  # its text repeats what it could not read
            raise UriError(f"{mask_uri(text)!r} is not a URI") from None
        if parts.scheme not in _FORMS:
            known = ", ".join(_FORMS)
            raise UriError(f"{mask_uri(text)!r} has no known scheme: use one of {known}")
        uri = cls._of(parts)
        if uri is None:
            raise UriError(f"{mask_uri(text)!r} is not of the form {_FORMS[parts.scheme]}")
        if uri.path.startswith((":memory:", "file:")):
            raise UriError(f"{mask_uri(text)!r} names no file on disk, where two processes meet")
        return uri

    def is_same_topic(self, other: TopicUri) -> bool:
        """Tell whether two URIs lead to one topic, however each is written."""
        if (self.scheme, self.topic) != (other.scheme, other.topic):
            return False
        if self.scheme == "kafka":  # brokers of one cluster, in any order
            return not set(map(_broker, self.hosts)).isdisjoint(map(_broker, other.hosts))
        return self.hosts == other.hosts and _real(self.path) == _real(other.path)

    def __repr__(self) -> str:
        shown = {k: "***" if is_secret_parameter(k) else v for k, v in self.params.items()}
        return f"TopicUri({self.scheme!r}, {self.hosts}, {self.path!r}, {self.topic!r}, {shown})"

    @classmethod
    def _of(cls, parts: SplitResult) -> TopicUri | None:
        """Build the URI of a known scheme; None where it lacks or has too much."""
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        params = dict(pairs)
        if parts.fragment or "@" in parts.netloc or len(params) < len(pairs):
            return None
        path = unquote(parts.path).removeprefix("/")
        hosts: tuple[str, ...] = ()
        if parts.scheme == "sqlite":
            topic = params.pop("topic", "")
            well_formed = path and not parts.netloc
        elif parts.scheme == "memory":
            path, topic, well_formed = "", parts.netloc, not path
        else:
            path, topic = "", path
            hosts = tuple(parts.netloc.split(",")) if parts.scheme == "kafka" else (parts.netloc,)
            well_formed = all(map(_is_host, hosts)) and not set(topic) & set("/@")
        if not (topic and well_formed):
            return None
        return cls(parts.scheme, hosts, path, topic, MappingProxyType(params))


def _is_host(text: str) -> bool:
    """Tell whether this is a host, with a port that there can be, or with none."""
    try:
        parts = urlsplit(f"//{text}")
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _broker(text: str) -> tuple[str | None, int]:
    parts = urlsplit(f"//{text}")
    return parts.hostname, parts.port or _KAFKA_PORT


def _real(path: str) -> str:
    return os.path.realpath(path) if path else ""


_KAFKA_PORT = 9092
_FORMS = {
    "memory": "memory://name",
    "sqlite": "sqlite:///file.db?topic=name (four slashes for an absolute path)",
    "kafka": "kafka://host:9092[,host:9092]/topic (credentials come from the environment)",
    "pubsub": "pubsub://project/topic-or-subscription",
}
