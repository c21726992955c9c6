"""Topic URIs and the type header."""

from __future__ import annotations

import pytest

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.intents.topics import (
    TYPE_HEADER,
    TopicUri,
    UriError,
    declared_type,
    mask_uri,
    type_header,
)


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("memory://intents", TopicUri("memory", (), "", "intents")),
        ("sqlite:///bus.db?topic=intents", TopicUri("sqlite", (), "bus.db", "intents")),
        ("sqlite:////var/bus.db?topic=i", TopicUri("sqlite", (), "/var/bus.db", "i")),
        ("sqlite:///a%20b.db?topic=i", TopicUri("sqlite", (), "a b.db", "i")),
        ("kafka://broker:9092/intents", TopicUri("kafka", ("broker:9092",), "", "intents")),
        ("kafka://a:1,b:2/i", TopicUri("kafka", ("a:1", "b:2"), "", "i")),
        ("kafka://a:1/i?group=g", TopicUri("kafka", ("a:1",), "", "i", {"group": "g"})),
        ("pubsub://shop/intents-sub", TopicUri("pubsub", ("shop",), "", "intents-sub")),
    ],
)
def test_a_uri_names_a_topic(text: str, uri: TopicUri) -> None:
    assert TopicUri.parse(text) == uri


@pytest.mark.parametrize(
    "text",
    [
        "",
        "intents",
        "redis://host/0",
        "memory://",
        "memory://a/b",
        "sqlite:///bus.db",
        "sqlite://bus.db?topic=intents",
        "sqlite:///?topic=intents",
        "sqlite:///bus.db?topic=a&topic=b",
        "kafka:///intents",
        "kafka://broker:9092",
        "kafka://broker:9092/",
        "kafka://a,,b/intents",
        "kafka://broker/a/b",
        "kafka://broker/intents#here",
        "kafka://[broker/intents",
        "pubsub://project",
    ],
)
def test_a_uri_that_names_no_topic_is_refused(text: str) -> None:
    with pytest.raises(UriError, match=r"no known scheme|of the form|not a URI"):
        TopicUri.parse(text)


def test_a_uri_with_credentials_is_refused_without_printing_them() -> None:
    with pytest.raises(UriError) as refused:
        TopicUri.parse("kafka://user:hunter2@broker:9092/intents")

    assert "hunter2" not in str(refused.value)
    assert "from the environment" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("redis://:hunter2@host:6379/0", "redis://***@host:6379/0"),
        ("redis://user:p@ss@host/0", "redis://***@host/0"),
        ("redis://host/0?password=hunter2&db=1", "redis://host/0?password=***&db=1"),
        ("kafka://host:9092/topic", "kafka://host:9092/topic"),
        ("cannot reach redis://u:p@h, sorry", "cannot reach redis://***@h, sorry"),
        ("write to me@example.org", "write to me@example.org"),
    ],
)
def test_credentials_never_print(text: str, masked: str) -> None:
    assert mask_uri(text) == masked


def test_a_record_declares_its_type() -> None:
    headers = [("other", b"x"), type_header(ToolResult)]

    assert type_header(ToolIntent) == (TYPE_HEADER, b"ToolIntent")
    assert declared_type(headers) == "ToolResult"


def test_a_record_may_declare_nothing() -> None:
    assert declared_type([("other", b"x")]) is None
