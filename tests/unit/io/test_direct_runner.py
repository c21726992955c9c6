"""A smoke test of the private hook: what we take from Beam's direct runner still holds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.coders import BytesCoder
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec, TimerSpec, on_timer
from apache_beam.utils.timestamp import Timestamp

from beam_agents.embedded import EmbeddedBus
from beam_agents.io.address import TopicAddress
from beam_agents.io.batches import Batch
from beam_agents.io.direct_runner import DirectRun, LiveRead, LiveRunner
from beam_agents.io.records import InboundRecord, OutboundRecord
from beam_agents.io.write import WriteRecords

PATIENCE_S = 60.0
DUE_MS = 5_000


class ScriptedFeed:
    """Hands out the batches that a test gives it, one a round."""

    def __init__(self, bus: EmbeddedBus, batches: Iterable[Batch]) -> None:
        self.bus = bus
        self.batches = list(batches)
        self.done = threading.Event()
        # What had come out, and whether all was quiet, when the runner asked for more.
        self.rounds: list[tuple[list[bytes | None], bool]] = []

    def next_batch(self, is_quiet: Callable[[], bool]) -> Batch:
        self.rounds.append(([record.value for record in self.bus.records("out")], is_quiet()))
        if len(self.batches) == 1:
            self.done.set()
            time.sleep(0.001)
        return self.batches[0]

    def handed_out(self, batch: Batch) -> None:
        if len(self.batches) > 1:
            self.batches.pop(0)


class CountAndTime(beam.DoFn):
    """Counts a key's records in its state, and says so again when its timer fires."""

    CELL = ReadModifyWriteStateSpec("cell", BytesCoder())
    DUE = TimerSpec("due", TimeDomain.WATERMARK)
    CELL_PARAM = beam.DoFn.StateParam(CELL)
    DUE_PARAM = beam.DoFn.TimerParam(DUE)

    def __init__(self) -> None:
        self.namespace = "counting"

    def process(
        self,
        element: tuple[bytes, Any],
        cell: Any = CELL_PARAM,
        due: Any = DUE_PARAM,
    ) -> Iterator[OutboundRecord]:
        key, value = element
        if value == b"bad":
            raise ValueError("a bad record")
        count = int(cell.read() or 0) + 1
        cell.write(b"%d" % count)
        due.set(Timestamp(DUE_MS / 1000))
        seen = value if isinstance(value, bytes) else b"woken"
        yield OutboundRecord(key, b"%s %d" % (seen, count))

    @on_timer(DUE)
    def fire(
        self, key: Any = beam.DoFn.KeyParam, cell: Any = CELL_PARAM
    ) -> Iterator[OutboundRecord]:
        yield OutboundRecord(key, b"due " + cell.read())


def batch(*values: bytes, held_at_ms: int = 0, watermark_ms: int, **wakes: Any) -> Batch:
    records = [InboundRecord(key=b"k", value=value) for value in values]
    return Batch(records, held_at_ms, watermark_ms, **wakes)


def keyed(record: InboundRecord) -> tuple[bytes, bytes | None]:
    return record.key or b"", record.value


@contextmanager
def running(feed: ScriptedFeed) -> Iterator[DirectRun]:
    options = PipelineOptions(["--streaming"])
    runner = LiveRunner()
    pipeline = beam.Pipeline(runner=runner, options=options)
    read = LiveRead(TopicAddress(f"sqlite:///{feed.bus.path}?topic=in"))
    read.feed = feed
    counted = (
        pipeline
        | "Read" >> read
        | "Key" >> beam.Map(keyed).with_output_types(tuple[bytes, bytes])
        | "Count" >> beam.ParDo(CountAndTime()).with_output_types(OutboundRecord)
    )
    _ = counted | "Write" >> WriteRecords(f"sqlite:///{feed.bus.path}?topic=out")
    run = runner.start(pipeline, options)
    try:
        yield run
    finally:
        run.shut_down()


def play(feed: ScriptedFeed) -> list[tuple[list[bytes | None], bool]]:
    with running(feed) as run:
        assert feed.done.wait(PATIENCE_S)
        assert run.failure() is None
    return feed.rounds


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[EmbeddedBus]:
    with EmbeddedBus(tmp_path / "bus.sqlite") as bus:
        yield bus


def test_a_round_begins_when_everything_of_the_last_one_is_written(bus: EmbeddedBus) -> None:
    rounds = play(
        ScriptedFeed(
            bus,
            [batch(b"a", b"b", watermark_ms=1), batch(b"c", watermark_ms=2), batch(watermark_ms=3)],
        )
    )
    assert rounds[:3] == [
        ([], True),
        ([b"a 1", b"b 2"], True),
        ([b"a 1", b"b 2", b"c 3"], True),
    ]


def test_timers_fire_when_the_watermark_passes_them(bus: EmbeddedBus) -> None:
    before = batch(watermark_ms=DUE_MS)
    rounds = play(
        ScriptedFeed(
            bus, [batch(b"a", watermark_ms=1), before, before, batch(watermark_ms=DUE_MS + 1)] * 2
        )
    )
    assert [out for out, _ in rounds[:5]] == [
        [],
        [b"a 1"],
        [b"a 1"],
        [b"a 1"],
        [b"a 1", b"due 1"],
    ]
    assert all(quiet for _, quiet in rounds)


def test_records_hold_the_timers_until_they_are_processed(bus: EmbeddedBus) -> None:
    rounds = play(
        ScriptedFeed(
            bus,
            [
                batch(b"a", watermark_ms=1),
                batch(b"b", held_at_ms=1, watermark_ms=DUE_MS + 1),
                batch(watermark_ms=DUE_MS + 1),
            ],
        )
    )
    assert rounds[2][0] == [b"a 1", b"b 2", b"due 2"]


def test_keys_are_woken_at_their_agents_step(bus: EmbeddedBus) -> None:
    wakes = [("counting", b"x"), ("another", b"y"), ("counting", b"z")]
    rounds = play(
        ScriptedFeed(bus, [batch(watermark_ms=1, wakes=wakes), batch(b"a", watermark_ms=2)])
    )
    assert rounds[1][0] == [b"woken 1", b"woken 1"]
    assert [record.key for record in bus.records("out")[:2]] == [b"x", b"z"]


def test_a_step_that_fails_is_reported_and_the_pipeline_is_never_quiet_again(
    bus: EmbeddedBus,
) -> None:
    feed = ScriptedFeed(bus, [batch(b"bad", watermark_ms=1), batch(watermark_ms=DUE_MS + 1)])
    with running(feed) as run:
        give_up = time.monotonic() + PATIENCE_S
        while (failure := run.failure()) is None:
            assert time.monotonic() < give_up
            time.sleep(0.005)
    assert isinstance(failure, ValueError)
    assert str(failure).startswith("a bad record")
    assert not any(quiet for _, quiet in feed.rounds[1:])
