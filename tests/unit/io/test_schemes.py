from __future__ import annotations

from pathlib import Path

import pytest

from beam_agents.intents.topics import UriError
from beam_agents.io.records import OutboundRecord
from beam_agents.io.schemes import (
    DEFAULT_IDLE_AFTER_MS,
    check_reader,
    check_writer,
    open_reader,
    open_writer,
)


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/bus.sqlite?topic=a"
    reader, idle_after_ms = open_reader(uri)
    open_writer(uri).write([OutboundRecord(b"k", b"v", (("name", b"header"),))])
    (record,) = reader.read(0, 10, received_at_ms=5)
    assert (record.key, record.value, record.headers) == (b"k", b"v", (("name", b"header"),))
    assert (record.topic, record.offset, record.received_at_ms) == ("a", 0, 5)
    assert record.timestamp_ms > 0
    assert reader.end() == 1
    assert idle_after_ms == DEFAULT_IDLE_AFTER_MS


def test_a_log_keeps_its_id_when_its_file_is_moved(tmp_path: Path) -> None:
    before, _ = open_reader(f"sqlite:///{tmp_path}/bus.sqlite?topic=a")
    (tmp_path / "moved").mkdir()
    for file in tmp_path.glob("bus.sqlite*"):
        file.rename(tmp_path / "moved" / file.name)
    after, _ = open_reader(f"sqlite:///{tmp_path}/moved/bus.sqlite?topic=a")
    assert after.log_id == before.log_id


def test_topics_of_one_file_are_different_logs(tmp_path: Path) -> None:
    a, _ = open_reader(f"sqlite:///{tmp_path}/bus.sqlite?topic=a")
    b, _ = open_reader(f"sqlite:///{tmp_path}/bus.sqlite?topic=b")
    assert a.log_id != b.log_id


def test_a_reader_takes_a_group_and_its_idle_time(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/bus.sqlite?topic=a&group=agents&idle_after_ms=200"
    assert check_reader(uri) == uri
    assert open_reader(uri)[1] == 200


@pytest.mark.parametrize(
    ("uri", "complaint"),
    [
        ("sqlite:///bus.sqlite", "topic=name"),
        ("kafka://broker:9092/events", "supported are sqlite://"),
        ("memory://events", "supported are sqlite://"),
        ("sqlite:///bus.sqlite?topic=a&idle_after=5", r"unknown parameters \['idle_after'\]"),
        ("sqlite:///bus.sqlite?topic=a&idle_after_ms=soon", "milliseconds, not 'soon'"),
        ("sqlite:///bus.sqlite?topic=a&idle_after_ms=-1", "milliseconds, not '-1'"),
    ],
)
def test_a_topic_that_cannot_be_read_is_refused_where_it_is_named(uri: str, complaint: str) -> None:
    with pytest.raises(UriError, match=complaint):
        check_reader(uri)


@pytest.mark.parametrize(
    ("uri", "complaint"),
    [
        ("pubsub://project/events", "supported are sqlite://"),
        ("sqlite:///bus.sqlite?topic=a&group=g", "known are: none"),
    ],
)
def test_a_topic_that_cannot_be_written_is_refused_where_it_is_named(
    uri: str, complaint: str
) -> None:
    with pytest.raises(UriError, match=complaint):
        check_writer(uri)
