"""Topics as unbounded sources of any runner that can split and checkpoint: one split a partition.

What a runner keeps of a split is its range of offsets and its watermark, and nothing of
ours: a running job can be updated. Where it is asked to drain, a source ends at once.
"""

from __future__ import annotations

from collections.abc import Iterable

import apache_beam as beam
from apache_beam.pvalue import PBegin, PCollection
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner

from beam_agents.core.errors import PipelineError
from beam_agents.io.address import TopicAddress
from beam_agents.io.claims import Split
from beam_agents.io.open_readers import OPEN_READERS
from beam_agents.io.read_partition import ReadPartition, ReadPartitionForGroup
from beam_agents.io.records import InboundRecord
from beam_agents.io.schemes import partitions


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
        has_group = "group" in self._address.uri.params
        read = ReadPartitionForGroup if has_group else ReadPartition
        records: PCollection[InboundRecord] = splits | "Read" >> beam.ParDo(
            read(self._address)
        ).with_output_types(InboundRecord)
        return records


class _Split(beam.DoFn):
    def __init__(self, address: TopicAddress) -> None:
        self._address = address

    def process(self, impulse: bytes) -> Iterable[Split]:
        """List the partitions, and where each begins."""
        for partition in partitions(self._address):
            yield partition, OPEN_READERS.reader(self._address, partition).first_offset()
