"""Reading off the live loop: claims, timestamps, watermarks and commits of one partition."""

from __future__ import annotations

import multiprocessing
import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.io.restriction_trackers import OffsetRange
from apache_beam.io.watermark_estimators import ManualWatermarkEstimator
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.utils.timestamp import Duration, Timestamp

from beam_agents.core.clock import EARLIEST_MS
from beam_agents.core.errors import PipelineError
from beam_agents.embedded import EmbeddedBus
from beam_agents.io import ReadEvents, WriteRecords, read_partition
from beam_agents.io.address import TopicAddress
from beam_agents.io.claims import Claims
from beam_agents.io.errors import TopicUnavailable
from beam_agents.io.logs import Look
from beam_agents.io.open_readers import OpenReaders
from beam_agents.io.records import InboundRecord, OutboundRecord

PATIENCE_S = 60.0


@dataclass
class ScriptedReader:
    """Gives the looks that a test scripted, then sees the end for ever."""

    looks: list[Look] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    committed: list[int] = field(default_factory=list)
    log_id: str = "log"
    is_closed: bool = False

    def first_offset(self) -> int:
        return 0

    def has_more(self, offset: int) -> bool:
        return bool(self.looks)

    def look(self, offset: int, limit: int, now_ms: int) -> Look:
        self.asked.append(offset)
        return self.looks.pop(0) if self.looks else Look((), offset, None)

    def commit(self, next_offset: int) -> None:
        self.committed.append(next_offset)

    def close(self) -> None:
        self.is_closed = True


class DeferredClaims(Claims):
    """What a runner gives to `process`: a tracker that can defer."""

    deferred: tuple[OffsetRange, Duration] | None = None

    def defer_remainder(self, delay: Duration) -> None:
        _, rest = self.try_split(0)
        self.deferred = rest, delay


@dataclass
class Finalizer:
    callbacks: list[Callable[[], None]] = field(default_factory=list)

    def register(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)


@dataclass
class Partition:
    """One partition, and what a runner keeps of it from bundle to bundle."""

    reader: ScriptedReader
    first: int = 0
    time_of_source: ManualWatermarkEstimator = field(
        default_factory=lambda: ManualWatermarkEstimator(None)
    )
    finalizer: Finalizer = field(default_factory=Finalizer)
    delay: Duration | None = None
    is_away: bool = False

    def __post_init__(self) -> None:
        self.dofn = read_partition.ReadPartitionForGroup(
            TopicAddress("sqlite:///bus.sqlite?topic=a&group=g")
        )

    def bundle(self) -> list[tuple[bytes | None, int]]:
        claims = DeferredClaims(OffsetRange(self.first, 2**62))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(read_partition, "OPEN_READERS", OpenReaders(lambda *_: self.open()))
            found = [
                (each.value.value, each.timestamp.micros // 1000)
                for each in self.dofn.process((0, 0), self.finalizer, claims, self.time_of_source)
            ]
        assert claims.deferred is not None
        rest, self.delay = claims.deferred
        self.first = rest.start
        return found

    def open(self) -> ScriptedReader:
        if self.is_away:
            raise TopicUnavailable("the broker is away")
        return self.reader

    @property
    def watermark_ms(self) -> int:
        watermark: Timestamp = self.time_of_source.current_watermark()
        return watermark.micros // 1000


def look(*offsets: int, next_offset: int | None = None, end_seen_ms: int | None = None) -> Look:
    records = [InboundRecord(b"k", b"%d" % n, offset=n, timestamp_ms=9_000) for n in offsets]
    return Look(records, offsets[-1] + 1 if next_offset is None else next_offset, end_seen_ms)


def test_a_bundle_reads_on_until_the_log_has_no_more() -> None:
    partition = Partition(ScriptedReader([look(0, 1), look(2)]))

    assert [value for value, _ in partition.bundle()] == [b"0", b"1", b"2"]
    assert (partition.first, partition.delay) == (3, Duration(0))


def test_the_next_bundle_goes_on_where_the_last_one_ended() -> None:
    partition = Partition(ScriptedReader([look(0, 1), look(next_offset=2), look(2)]))
    partition.bundle()

    assert [value for value, _ in partition.bundle()] == [b"2"]
    assert partition.reader.asked == [0, 2, 2, 3]


def test_an_idle_partition_is_looked_at_again_after_a_while() -> None:
    partition = Partition(ScriptedReader([look(next_offset=0, end_seen_ms=60_000)]))

    assert partition.bundle() == []
    assert partition.delay == read_partition._LOOK_AGAIN
    assert partition.watermark_ms == 55_000


def test_records_are_no_later_than_the_watermark_before_them() -> None:
    partition = Partition(
        ScriptedReader([look(0), look(1, end_seen_ms=60_000), look(2, end_seen_ms=70_000)])
    )

    assert partition.bundle() == [(b"0", EARLIEST_MS), (b"1", 4_000), (b"2", 55_000)]
    assert partition.watermark_ms == 65_000


def test_a_partition_that_does_not_answer_keeps_its_watermark() -> None:
    partition = Partition(ScriptedReader([look(0, end_seen_ms=60_000)]))
    partition.bundle()
    partition.bundle()

    assert partition.watermark_ms == 55_000


def test_what_is_no_record_is_claimed_as_well() -> None:
    partition = Partition(ScriptedReader([look(0, next_offset=4), look(next_offset=4)]))
    partition.bundle()

    assert partition.first == 4


def test_a_log_with_holes_is_read_through() -> None:
    partition = Partition(ScriptedReader([look(0, 7, 8)]))

    assert [value for value, _ in partition.bundle()] == [b"0", b"7", b"8"]
    assert partition.first == 9


def test_a_bundle_ends_though_there_is_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_partition, "_RECORDS_A_BUNDLE", 3)
    partition = Partition(ScriptedReader([look(0, 1), look(2, 3), look(4)]))

    assert len(partition.bundle()) == 4
    assert (partition.first, partition.delay) == (4, Duration(0))


def test_a_group_hears_of_a_bundle_when_it_is_final() -> None:
    partition = Partition(ScriptedReader([look(0, 1)]))
    partition.bundle()
    assert partition.reader.committed == []

    assert len(partition.finalizer.callbacks) == 1
    for callback in partition.finalizer.callbacks:
        callback()

    assert partition.reader.committed == [2]


def test_a_partition_is_never_split_into_offsets_that_nobody_has_written() -> None:
    claims = Claims(OffsetRange(0, 2**62))
    claims.try_claim(0)  # type: ignore[no-untyped-call]

    assert claims.try_split(0.5) is None
    assert claims.try_split(0) == (OffsetRange(0, 1), OffsetRange(1, 2**62))
    assert not claims.is_bounded()


def test_a_partition_that_cannot_be_opened_waits_where_it_is() -> None:
    partition = Partition(ScriptedReader([look(5)]), first=5, is_away=True)

    assert partition.bundle() == []
    assert (partition.first, partition.delay) == (5, read_partition._TRY_AGAIN)

    partition.is_away = False
    assert len(partition.bundle()) == 1


def test_a_reader_is_the_processs_until_it_is_no_longer_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: dict[int, ScriptedReader] = {}
    readers = OpenReaders(lambda _, partition: opened.setdefault(partition, ScriptedReader()))
    clock = iter([0.0, 30.0, 30.0, 61.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    address = TopicAddress("sqlite:///bus.sqlite?topic=a")

    first = readers.reader(address, 0)
    assert readers.reader(address, 1) is not first
    assert readers.reader(pickle.loads(pickle.dumps(address)), 1) is opened[1]  # noqa: S301
    readers.reader(address, 1)
    assert [opened[0].is_closed, opened[1].is_closed] == [True, False]
    readers.close()
    assert opened[1].is_closed


def test_a_runner_that_cannot_read_on_is_refused_where_the_pipeline_is_built() -> None:
    pipeline = beam.Pipeline(runner="BundleBasedDirectRunner", options=PipelineOptions([]))
    with pytest.raises(PipelineError, match=r"needs beam_agents\.io\.LocalLoopRunner"):
        _ = pipeline | ReadEvents("sqlite:///bus.sqlite?topic=a", key=lambda record: record.key)


def copy(path: str) -> None:
    pipeline = beam.Pipeline(runner="FnApiRunner", options=PipelineOptions(["--streaming"]))
    events = pipeline | ReadEvents(f"sqlite:///{path}?topic=in", key=lambda record: record.key)
    records = events.envelopes | beam.MapTuple(
        lambda key, envelope: OutboundRecord(key, envelope.external_event)
    ).with_output_types(OutboundRecord)
    _ = records | WriteRecords(f"sqlite:///{path}?topic=out")
    pipeline.run()


@pytest.fixture
def copying(tmp_path: Path) -> Iterator[EmbeddedBus]:
    bus = EmbeddedBus(tmp_path / "bus.sqlite")
    process: Any = multiprocessing.get_context("forkserver").Process(
        target=copy, args=(str(bus.path),)
    )
    process.start()
    yield bus
    process.kill()
    process.join()
    bus.close()


def test_a_bus_is_read_on_without_the_live_loop(copying: EmbeddedBus) -> None:
    for count in (1, 2):
        copying.publish("in", key=b"k", value=b"%d" % count)
        give_up = time.monotonic() + PATIENCE_S
        while len(copying.records("out")) < count:
            assert time.monotonic() < give_up
            time.sleep(0.05)

    assert [record.value for record in copying.records("out")] == [b"1", b"2"]
