from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from beam_agents.core.errors import PipelineError
from beam_agents.intents.topics import UriError
from beam_agents.io import schemes
from beam_agents.io.address import TopicAddress
from beam_agents.io.logs import LogReader
from beam_agents.io.records import OutboundRecord
from beam_agents.io.schemes import (
    DEFAULT_IDLE_AFTER_MS,
    check_reader,
    check_writer,
    idle_after_ms,
    open_reader,
    open_writer,
    partitions,
)
from beam_agents.kafka import KafkaSecurity


def reader(uri: str) -> LogReader:
    address = TopicAddress(uri)
    (partition,) = partitions(address)
    return open_reader(address, partition)


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/bus.sqlite?topic=a"
    log = reader(uri)
    open_writer(TopicAddress(uri)).write([OutboundRecord(b"k", b"v", (("name", b"header"),))])
    look = log.look(log.first_offset(), 10, 5)
    (record,) = look.records
    assert (record.key, record.value, record.headers) == (b"k", b"v", (("name", b"header"),))
    assert (record.topic, record.offset, record.received_at_ms) == ("a", 0, 5)
    assert record.timestamp_ms > 0
    assert (look.next_offset, look.end_seen_ms) == (1, 5)


def test_the_end_is_not_seen_while_there_may_be_more(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/bus.sqlite?topic=a"
    open_writer(TopicAddress(uri)).write([OutboundRecord(b"k", b"%d" % n) for n in range(3)])
    log = reader(uri)
    assert log.look(0, 2, 5).end_seen_ms is None
    assert (log.has_more(2), log.has_more(3)) == (True, False)


def test_a_log_keeps_its_id_when_its_file_is_moved(tmp_path: Path) -> None:
    before = reader(f"sqlite:///{tmp_path}/bus.sqlite?topic=a")
    (tmp_path / "moved").mkdir()
    for file in tmp_path.glob("bus.sqlite*"):
        file.rename(tmp_path / "moved" / file.name)
    after = reader(f"sqlite:///{tmp_path}/moved/bus.sqlite?topic=a")
    assert after.log_id == before.log_id


def test_topics_of_one_file_are_different_logs(tmp_path: Path) -> None:
    a = reader(f"sqlite:///{tmp_path}/bus.sqlite?topic=a")
    b = reader(f"sqlite:///{tmp_path}/bus.sqlite?topic=b")
    assert a.log_id != b.log_id


def test_a_use_of_a_topic_has_one_writer_wherever_it_is_unpickled(tmp_path: Path) -> None:
    address = TopicAddress(f"sqlite:///{tmp_path}/bus.sqlite?topic=a")
    assert open_writer(pickle.loads(pickle.dumps(address))) is open_writer(address)  # noqa: S301


def test_a_reader_takes_a_group_and_its_idle_time() -> None:
    uri = "sqlite:///bus.sqlite?topic=a&group=agents&idle_after_ms=200"
    assert check_reader(uri) == uri
    assert idle_after_ms(TopicAddress(uri).uri) == 200
    assert idle_after_ms(TopicAddress("sqlite:///bus.sqlite?topic=a").uri) == DEFAULT_IDLE_AFTER_MS


def test_a_missing_extra_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemes, "find_spec", lambda _: None)
    for check in (check_reader, check_writer):
        with pytest.raises(PipelineError, match=r"pip install 'beam-agents-core\[kafka\]'"):
            check("kafka://broker:9092/events")


def test_credentials_are_asked_for_where_they_are_needed() -> None:
    alice = KafkaSecurity("SASL_SSL", username="alice", password="secret")
    uri = "kafka://broker:9092/events"
    assert TopicAddress(uri).security() == KafkaSecurity()
    assert TopicAddress(uri, alice).security() == alice
    assert TopicAddress(uri, lambda: alice).security() == alice


@pytest.mark.parametrize(
    ("uri", "complaint"),
    [
        ("sqlite:///bus.sqlite", "topic=name"),
        ("memory://events", "supported are sqlite://"),
        ("pubsub://project/events", "apply Beam's ReadFromPubSub"),
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
        ("memory://events", "supported are sqlite://"),
        ("sqlite:///bus.sqlite?topic=a&group=g", "known are: none"),
        ("kafka://alice:secret@broker:9092/events", r"'kafka://\*\*\*@broker"),
    ],
)
def test_a_topic_that_cannot_be_written_is_refused_where_it_is_named(
    uri: str, complaint: str
) -> None:
    with pytest.raises(UriError, match=complaint):
        check_writer(uri)
