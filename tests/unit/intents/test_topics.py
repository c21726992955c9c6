"""Topic URIs and the type header."""

from __future__ import annotations

from pathlib import Path

import pytest

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.intents.topics import (
    TYPE_HEADER,
    TopicUri,
    UriError,
    declared_type,
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
    "text",
    [
        "kafka://u:12/hunter2@broker/intents",
        "kafka://u:p#hunter2@broker/intents",
        "redis://u:hunter2\u2100@host/0",
        "kafka://u:[hunter2@broker/intents",
    ],
)
def test_no_mistake_in_a_uri_prints_its_password(text: str) -> None:
    with pytest.raises(UriError) as refused:
        TopicUri.parse(text)

    assert "hunter2" not in str(refused.value)


def test_a_uri_prints_without_the_credentials_among_its_parameters() -> None:
    uri = TopicUri.parse("kafka://broker/intents?group=g&password=hunter%262")

    assert "'group': 'g'" in repr(uri)
    assert "hunter" not in repr(uri)
    assert uri.params["password"] == "hunter&2"


@pytest.mark.parametrize("path", ["/:memory:", "/file::memory:?cache=shared", "/file:bus.db"])
def test_a_topic_is_a_file_on_disk(path: str) -> None:
    text = f"sqlite://{path}{'&' if '?' in path else '?'}topic=intents"

    with pytest.raises(UriError, match="names no file on disk"):
        TopicUri.parse(text)


def test_one_file_is_one_topic_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "inner")
    monkeypatch.chdir(tmp_path / "inner")
    paths = ["bus.db", "../inner/bus.db", f"/{tmp_path}/inner/bus.db", f"/{tmp_path}/link/bus.db"]
    uris = [TopicUri.parse(f"sqlite:///{path}?topic=intents") for path in paths]

    assert all(uri.is_same_topic(uris[0]) for uri in uris)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("kafka://a:9092,b:1/t", "kafka://B:1,c:1/t?group=g", True),
        ("kafka://a/t", "kafka://a:9092/t", True),
        ("kafka://a/t", "kafka://b/t", False),
        ("kafka://a/t", "kafka://a/u", False),
        ("sqlite:///a.db?topic=t", "sqlite:///b.db?topic=t", False),
        ("memory://t", "memory://t", True),
        ("pubsub://p/t", "pubsub://q/t", False),
        ("memory://t", "sqlite:///a.db?topic=t", False),
    ],
)
def test_two_uris_may_name_one_topic(one: str, other: str, same: bool) -> None:
    assert TopicUri.parse(one).is_same_topic(TopicUri.parse(other)) is same


def test_a_record_declares_its_type() -> None:
    headers = [("other", b"x"), type_header(ToolResult)]

    assert type_header(ToolIntent) == (TYPE_HEADER, b"ToolIntent")
    assert declared_type(headers) == "ToolResult"


def test_a_record_may_declare_nothing() -> None:
    assert declared_type([("other", b"x")]) is None
