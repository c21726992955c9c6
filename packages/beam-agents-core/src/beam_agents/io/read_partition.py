"""The splittable step that reads a partition: a bundle's worth, again and again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any, TypeAlias

import apache_beam as beam
from apache_beam.io.watermark_estimators import ManualWatermarkEstimator
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import Duration, Timestamp

from beam_agents.core.clock import EARLIEST_MS
from beam_agents.io.address import TopicAddress
from beam_agents.io.claims import FromFirstOffset, Split
from beam_agents.io.errors import TopicUnavailable
from beam_agents.io.logs import Look
from beam_agents.io.open_readers import OPEN_READERS
from beam_agents.io.schemes import idle_after_ms
from beam_agents.io.watermarks import watermark_after

_LOG = logging.getLogger(__name__)
_LOOK_AGAIN = Duration(micros=200_000)
_TRY_AGAIN = Duration(seconds=1)
_RECORDS_A_LOOK = 500
# What one bundle may read: this is how often a source that is never idle is checkpointed.
_RECORDS_A_BUNDLE = 5_000

# Yields records; returns what tells the group of them, if there were any.
Reading: TypeAlias = Generator[TimestampedValue[Any], None, Callable[[], None] | None]

_CLAIMS = beam.DoFn.RestrictionParam(FromFirstOffset())
_SOURCE_TIME = beam.DoFn.WatermarkEstimatorParam(ManualWatermarkEstimator.default_provider())


class ReadPartition(beam.DoFn):
    """Reads what a partition holds, and comes back for more.

    Args:
        address: The topic.
    """

    def __init__(self, address: TopicAddress) -> None:
        self._address = address
        self._idle_after_ms = idle_after_ms(address.uri)

    @beam.DoFn.unbounded_per_element()  # type: ignore[untyped-decorator]
    def process(
        self, split: Split, claims: Any = _CLAIMS, source_time: Any = _SOURCE_TIME
    ) -> Iterable[Any]:
        """Read until the log has no more, or the bundle enough."""
        yield from self._read(split, claims, source_time)

    def _read(self, split: Split, claims: Any, source_time: Any) -> Reading:
        try:
            reader = OPEN_READERS.reader(self._address, split[0])
        except TopicUnavailable as error:
            # It was there when its partitions were listed, so it is to come back.
            _LOG.error("partition %d has to wait: %s", split[0], error)
            claims.defer_remainder(_TRY_AGAIN)
            return None

        first = position = claims.current_restriction().start
        while position < first + _RECORDS_A_BUNDLE:
            now_ms = time.time_ns() // 1_000_000
            look = reader.look(position, _RECORDS_A_LOOK, now_ms)
            before_ms = _milliseconds(source_time.current_watermark())
            for record in look.records:
                if not claims.try_claim(record.offset):
                    return None
                # No later than the watermark before it, whatever its own event time.
                yield TimestampedValue(record, _timestamp(before_ms))
            if _ends_in_no_record(look, position) and not claims.try_claim(look.next_offset - 1):
                return None
            after_ms = watermark_after(
                look, before_ms, now_ms=now_ms, idle_after_ms=self._idle_after_ms
            )
            if after_ms > before_ms:
                source_time.set_watermark(_timestamp(after_ms))
            if look.next_offset == position:
                break
            position = look.next_offset
        claims.defer_remainder(_LOOK_AGAIN if position == first else Duration(0))
        return partial(reader.commit, position) if position > first else None


class ReadPartitionForGroup(ReadPartition):
    """Reads a partition, and tells a group how far a bundle got once that is final.

    Apart from the other, since Prism finalizes every bundle of a step that may ask for
    it, and the worker complains of those that did not.
    """

    @beam.DoFn.unbounded_per_element()  # type: ignore[untyped-decorator]
    def process(
        self,
        split: Split,
        finalizer: Any = beam.DoFn.BundleFinalizerParam,
        claims: Any = _CLAIMS,
        source_time: Any = _SOURCE_TIME,
    ) -> Iterable[Any]:
        """Read until the log has no more, or the bundle enough."""
        commit = yield from self._read(split, claims, source_time)
        if commit is not None:
            finalizer.register(commit)


def _ends_in_no_record(look: Look, position: int) -> bool:
    """Whether the look passed over the mark of a transaction: it has an offset to be claimed."""
    claimed = look.records[-1].offset if look.records else position - 1
    return look.next_offset - 1 > claimed


def _milliseconds(watermark: Timestamp | None) -> int:
    # Before our first word on it, a runner's own beginning of time.
    return EARLIEST_MS if watermark is None else max(EARLIEST_MS, watermark.micros // 1000)


def _timestamp(at_ms: int) -> Timestamp:
    return Timestamp(micros=at_ms * 1000)
