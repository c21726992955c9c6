"""Topics as unbounded sources of any runner that can split and checkpoint: one split a partition.

What a runner keeps of a split is its range of offsets and its watermark, and nothing of
ours: a running job can be updated. Where it is asked to drain, a source ends at once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from functools import partial
from typing import Any, TypeAlias

import apache_beam as beam
from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from apache_beam.io.watermark_estimators import ManualWatermarkEstimator
from apache_beam.pvalue import PBegin, PCollection
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.transforms.core import RestrictionProvider
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import Duration, Timestamp

from beam_agents.core.clock import EARLIEST_MS
from beam_agents.core.errors import PipelineError
from beam_agents.io.address import TopicAddress
from beam_agents.io.open_readers import OpenReaders
from beam_agents.io.records import InboundRecord
from beam_agents.io.schemes import idle_after_ms, open_reader, partitions
from beam_agents.io.watermarks import watermark_after

# A partition, and the offset at which a pipeline without a checkpoint begins.
Split: TypeAlias = tuple[int, int]

_LOOK_AGAIN = Duration(micros=200_000)
_RECORDS_A_LOOK = 500
# What one bundle may read: this is how often a source that is never idle is checkpointed.
_RECORDS_A_BUNDLE = 5_000


class UnboundedRead(beam.PTransform[PBegin, PCollection[InboundRecord]]):
    """Reads a topic for as long as the pipeline runs.

    Args:
        address: The topic.
    """

    def __init__(self, address: TopicAddress) -> None:
        super().__init__()
        self._address = address

    def expand(self, begin: PBegin) -> PCollection[InboundRecord]:
        """List the partitions where the pipeline runs, and read each."""
        if isinstance(begin.pipeline.runner, BundleBasedDirectRunner):
            raise PipelineError(
                f"{type(begin.pipeline.runner).__name__} cannot read on: {str(self._address)!r} "
                "needs beam_agents.io.LocalLoopRunner, PrismRunner or Flink"
            )
        splits = (
            begin
            | "Start" >> beam.Impulse()
            | "Split" >> beam.ParDo(_Split(self._address)).with_output_types(tuple[int, int])
        )
        records: PCollection[InboundRecord] = splits | "Read" >> beam.ParDo(
            ReadPartition(self._address)
        ).with_output_types(InboundRecord)
        return records


class _Split(beam.DoFn):
    def __init__(self, address: TopicAddress) -> None:
        self._address = address

    def process(self, impulse: bytes) -> Iterable[Split]:
        """List the partitions, and where each begins."""
        for partition in partitions(self._address):
            reader = open_reader(self._address, partition)
            yield partition, reader.first_offset()
            reader.close()


class _Claims(OffsetRestrictionTracker):
    """Claims offsets one by one; can be checkpointed, but not split further."""

    def try_split(self, fraction_of_remainder: float) -> Any:
        """Refuse to give away offsets that nobody has written yet."""
        if fraction_of_remainder != 0:
            return None
        return super().try_split(fraction_of_remainder)  # type: ignore[no-untyped-call]

    def is_bounded(self) -> bool:
        """Say that there is no end."""
        return False


class _FromFirstOffset(RestrictionProvider):
    """A split is read from its first offset on."""

    def initial_restriction(self, split: Split) -> OffsetRange:
        """Return all there will ever be."""
        return OffsetRange(split[1], sys.maxsize)

    def create_tracker(self, restriction: OffsetRange) -> _Claims:
        """Track the offsets that were claimed."""
        return _Claims(restriction)

    def restriction_size(self, split: Split, restriction: OffsetRange) -> int:
        """Weigh every partition alike."""
        return 1

    def truncate(self, split: Split, restriction: OffsetRange) -> None:
        """End at a drain."""


_CLAIMS = beam.DoFn.RestrictionParam(_FromFirstOffset())
_TIME_OF_SOURCE = beam.DoFn.WatermarkEstimatorParam(ManualWatermarkEstimator.default_provider())


class ReadPartition(beam.DoFn):
    """Reads what a partition holds, and comes back for more.

    Args:
        address: The topic.
    """

    def __init__(self, address: TopicAddress) -> None:
        self._address = address
        self._idle_after_ms = idle_after_ms(address.uri)

    def setup(self) -> None:
        """Begin without connections."""
        self._readers = OpenReaders(partial(open_reader, self._address))

    def teardown(self) -> None:
        """Let go of all connections."""
        self._readers.close()

    @beam.DoFn.unbounded_per_element()  # type: ignore[untyped-decorator]
    def process(
        self,
        split: Split,
        finalizer: Any = beam.DoFn.BundleFinalizerParam,
        claims: Any = _CLAIMS,
        time_of_source: Any = _TIME_OF_SOURCE,
    ) -> Iterable[Any]:
        """Read until the log has no more, or the bundle enough."""
        reader = self._readers.reader(split[0])
        first = position = claims.current_restriction().start
        claimed = first - 1
        while position < first + _RECORDS_A_BUNDLE:
            now_ms = time.time_ns() // 1_000_000
            look = reader.look(position, _RECORDS_A_LOOK, now_ms)
            before_ms = _milliseconds(time_of_source.current_watermark())
            for record in look.records:
                if not claims.try_claim(record.offset):
                    return
                claimed = record.offset
                # No later than the watermark before it, whatever its own event time.
                yield TimestampedValue(record, _timestamp(before_ms))
            # What ends a transaction has an offset too, and is no record.
            if look.next_offset - 1 > claimed and not claims.try_claim(look.next_offset - 1):
                return
            claimed = look.next_offset - 1
            after_ms = watermark_after(
                look, before_ms, now_ms=now_ms, idle_after_ms=self._idle_after_ms
            )
            if after_ms > before_ms:
                time_of_source.set_watermark(_timestamp(after_ms))
            if look.next_offset == position:
                break
            position = look.next_offset
        if position > first:
            finalizer.register(partial(reader.commit, position))
        claims.defer_remainder(_LOOK_AGAIN if position == first else Duration(0))


def _milliseconds(watermark: Timestamp | None) -> int:
    # Before our first word on it, a runner's own beginning of time.
    return EARLIEST_MS if watermark is None else max(EARLIEST_MS, watermark.micros // 1000)


def _timestamp(at_ms: int) -> Timestamp:
    return Timestamp(micros=at_ms * 1000)
