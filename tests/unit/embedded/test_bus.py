from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from beam_agents.embedded import (
    BusError,
    BusReplaced,
    BusUnavailable,
    BusVersionError,
    EmbeddedBus,
    NewRecord,
)


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[EmbeddedBus]:
    with EmbeddedBus(tmp_path / "bus.sqlite", clock_ms=lambda: 1_000) as bus:
        yield bus


def test_records_come_back_as_they_were_published(bus: EmbeddedBus) -> None:
    headers = (("type", b"\x00\xff"), ("type", b"again"))
    assert bus.publish("events", key=b"\x00k", value=b"\xffv", headers=headers) == 0
    (record,) = bus.records("events")
    assert (record.offset, record.key, record.value) == (0, b"\x00k", b"\xffv")
    assert record.headers == headers
    assert record.timestamp_ms == 1_000


def test_a_record_may_have_neither_key_nor_value(bus: EmbeddedBus) -> None:
    bus.publish("events", key=None, value=None)
    (record,) = bus.records("events")
    assert (record.key, record.value) == (None, None)


def test_empty_bytes_are_not_none(bus: EmbeddedBus) -> None:
    bus.publish("events", key=b"", value=b"")
    (record,) = bus.records("events")
    assert (record.key, record.value) == (b"", b"")


def test_each_topic_counts_from_zero(bus: EmbeddedBus) -> None:
    assert bus.publish("a", key=b"k", value=b"0") == 0
    assert bus.publish("b", key=b"k", value=b"0") == 0
    assert bus.publish("a", key=b"k", value=b"1") == 1
    assert (bus.end_offset("a"), bus.end_offset("b"), bus.end_offset("c")) == (2, 1, 0)
    assert bus.topics() == ["a", "b"]


def test_a_batch_is_contiguous_and_in_order(bus: EmbeddedBus) -> None:
    bus.publish("a", key=b"k", value=b"first")
    offsets = bus.publish_all("a", [NewRecord(b"k", b"%d" % n) for n in range(3)])
    assert offsets == range(1, 4)
    assert [record.value for record in bus.records("a", start=1)] == [b"0", b"1", b"2"]


def test_a_batch_that_fails_leaves_nothing(bus: EmbeddedBus) -> None:
    unpublishable: object = object()
    with pytest.raises(sqlite3.Error):
        bus.publish_all("a", [NewRecord(b"k", b"good"), NewRecord(b"k", unpublishable)])  # type: ignore[arg-type]
    assert bus.records("a") == []
    assert bus.publish("a", key=b"k", value=b"next") == 0


def test_an_empty_batch_publishes_nothing(bus: EmbeddedBus) -> None:
    assert len(bus.publish_all("a", [])) == 0
    assert bus.topics() == []


def test_reading_starts_and_stops_where_it_is_told(bus: EmbeddedBus) -> None:
    bus.publish_all("a", [NewRecord(b"k", b"%d" % n) for n in range(10)])
    assert [record.offset for record in bus.records("a", start=4, limit=3)] == [4, 5, 6]


def test_a_topic_without_a_name_is_refused(bus: EmbeddedBus) -> None:
    with pytest.raises(ValueError, match="needs a name"):
        bus.publish("", key=b"k", value=b"v")


def test_records_outlive_the_process_that_wrote_them(tmp_path: Path) -> None:
    with EmbeddedBus(tmp_path / "bus.sqlite") as first:
        first.publish("a", key=b"k", value=b"v")
        bus_id = first.bus_id
    with EmbeddedBus(tmp_path / "bus.sqlite") as second:
        assert [record.value for record in second.records("a")] == [b"v"]
        assert second.bus_id == bus_id


def test_a_file_made_anew_has_another_id(tmp_path: Path) -> None:
    with EmbeddedBus(tmp_path / "one.sqlite") as one, EmbeddedBus(tmp_path / "two.sqlite") as two:
        assert one.bus_id != two.bus_id


def test_every_commit_is_synced_to_disk(bus: EmbeddedBus) -> None:
    with bus._database.read() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bus.sqlite"
    EmbeddedBus(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE bus_meta SET value = '99' WHERE name = 'schema_version'")
    connection.close()
    with pytest.raises(BusVersionError, match=r"schema version 99.*upgrade"):
        EmbeddedBus(path)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("this is not a database, however long the text in it may be" * 100)
    with pytest.raises(BusError, match="is not a bus"):
        EmbeddedBus(path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(BusUnavailable, match="missing"):
        EmbeddedBus(tmp_path / "missing" / "bus.sqlite")


def test_a_closed_bus_says_so(bus: EmbeddedBus) -> None:
    bus.close()
    bus.close()
    with pytest.raises(BusUnavailable, match="closed"):
        bus.records("a")


def test_threads_share_one_bus(bus: EmbeddedBus) -> None:
    def publish(name: bytes) -> None:
        for n in range(20):
            bus.publish("a", key=name, value=b"%d" % n)

    threads = [threading.Thread(target=publish, args=(b"%d" % n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = bus.records("a")
    assert [record.offset for record in records] == list(range(80))
    for name in (b"0", b"1", b"2", b"3"):
        assert [r.value for r in records if r.key == name] == [b"%d" % n for n in range(20)]


def test_waiting_ends_with_the_first_record(bus: EmbeddedBus) -> None:
    other = EmbeddedBus(bus.path)
    publisher = threading.Thread(target=lambda: other.publish("a", key=b"k", value=b"v"))
    publisher.start()
    assert bus.wait("a", 0, timeout_ms=60_000)
    publisher.join()
    other.close()


def test_waiting_ends_with_the_time(bus: EmbeddedBus) -> None:
    bus.publish("a", key=b"k", value=b"v")
    assert not bus.wait("a", 1, timeout_ms=1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_a_forked_child_publishes_through_a_connection_of_its_own(bus: EmbeddedBus) -> None:
    bus.publish("a", key=b"k", value=b"parent")
    child = os.fork()
    if child == 0:
        try:
            bus.publish("a", key=b"k", value=b"child")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    bus.publish("a", key=b"k", value=b"parent again")
    assert [r.value for r in bus.records("a")] == [b"parent", b"child", b"parent again"]


def test_a_file_that_is_gone_takes_nothing_until_it_is_back(
    bus: EmbeddedBus, tmp_path: Path
) -> None:
    bus.publish("events", key=b"k", value=b"0")
    bus.path.rename(tmp_path / "elsewhere")
    with pytest.raises(BusUnavailable, match="is gone since it was opened: put it back"):
        bus.publish("events", key=b"k", value=b"lost")
    with pytest.raises(BusUnavailable, match="is gone"):
        bus.records("events")
    assert not bus.path.exists()

    (tmp_path / "elsewhere").rename(bus.path)

    assert bus.publish("events", key=b"k", value=b"1") == 1


def test_a_file_that_was_replaced_is_not_written(bus: EmbeddedBus, tmp_path: Path) -> None:
    with EmbeddedBus(tmp_path / "another") as another:
        another.publish("events", key=b"k", value=b"another's")
    (tmp_path / "another").rename(bus.path)
    for log in tmp_path.glob("bus.sqlite-*"):
        log.unlink()

    with pytest.raises(BusReplaced, match="restart to use it"):
        bus.publish("events", key=b"k", value=b"lost")

    with EmbeddedBus(bus.path) as anew:
        assert [record.value for record in anew.records("events")] == [b"another's"]
