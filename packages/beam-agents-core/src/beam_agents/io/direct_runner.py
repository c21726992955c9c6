"""The only module that touches private parts of Beam's direct runner.

The `BundleBasedDirectRunner` has correct event-time timers, and runs until its
roots end; what it lacks is a source that reads on. It finds the evaluator of a
transform in a table that Beam's own Pub/Sub tests extend through
`_test_evaluators_overrides`, and so do we. Beam asks a root for more only when
nothing else in the pipeline can move, which is what a checkpoint needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, cast

import apache_beam as beam
from apache_beam.metrics.metric import MetricResults
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pipeline import AppliedPTransform, Pipeline, PipelineVisitor
from apache_beam.pvalue import PBegin, PCollection
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner, DirectPipelineResult
from apache_beam.runners.direct.transform_evaluator import (
    TransformEvaluatorRegistry,
    _TransformEvaluator,
)
from apache_beam.runners.direct.util import TransformResult
from apache_beam.transforms.userstate import is_stateful_dofn
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.timestamp import Timestamp

from beam_agents._protos.state_pb2 import EnvelopeBatch
from beam_agents.io.address import TopicAddress
from beam_agents.io.batches import Batch, Feed
from beam_agents.io.records import InboundRecord


class LiveRunner(BundleBasedDirectRunner):
    """A runner that can evaluate `LiveRead`."""

    def start(self, pipeline: Pipeline, options: PipelineOptions) -> DirectRun:
        """Run a pipeline on threads of its own. Its sources must have their feeds."""
        result = super().run_pipeline(pipeline, options)  # type: ignore[no-untyped-call]
        return DirectRun(result)


class LiveRead(beam.PTransform[PBegin, PCollection[InboundRecord]]):
    """Reads a topic live; a primitive that only `LiveRunner` evaluates.

    Args:
        address: The topic.
    """

    feed: Feed
    pipeline: Pipeline

    def __init__(self, address: TopicAddress) -> None:
        super().__init__()
        self.address = address

    def expand(self, begin: PBegin) -> PCollection[InboundRecord]:
        """Make the unbounded output."""
        return PCollection(begin.pipeline, element_type=InboundRecord, is_bounded=False)

    def get_windowing(self, inputs: Any) -> beam.Windowing:
        """Read into the global window."""
        return beam.Windowing(GlobalWindows())


class DirectRun:
    """A pipeline that the direct runner has started on threads of its own."""

    def __init__(self, result: DirectPipelineResult) -> None:
        self._result = result
        self._executor = result._executor._executor

    def failure(self) -> Exception | None:
        """Return what a step failed with after its retries, if one did."""
        update = self._executor.visible_updates.poll()
        if update is None:
            return None
        if update.exception is None:
            return RuntimeError("the pipeline ended by itself, which a live one never does")
        # A stall comes as a tuple of the form of sys.exc_info().
        error = update.exception
        return cast(Exception, error[0] if isinstance(error, tuple) else error)

    def shut_down(self) -> None:
        """End the threads, once what runs on them has finished."""
        self._result.cancel()

    def metrics(self) -> MetricResults:
        """Return the metrics, of which this runner loses many."""
        metrics: MetricResults = self._result.metrics()
        return metrics


def steps_of(pipeline: Pipeline) -> list[Any]:
    """Return the transforms of which a pipeline is made in the end."""
    transforms: list[Any] = []

    class Visitor(PipelineVisitor):
        def visit_transform(self, step: AppliedPTransform) -> None:
            transforms.append(step.transform)

    pipeline.visit(Visitor())
    return transforms


class _LiveReadEvaluator(_TransformEvaluator):
    """Emits one batch, and a heartbeat by which Beam evaluates the source again."""

    def process_element(self, element: Any) -> None:
        """Ignore the heartbeat of the round before."""

    def finish_bundle(self) -> TransformResult:
        """Hand out the next batch."""
        read = cast(LiveRead, self._applied_ptransform.transform)
        feed = read.feed
        batch = feed.next_batch(self._is_quiet)
        held_at = Timestamp(micros=batch.held_at_ms * 1000)
        watermark = Timestamp(micros=batch.watermark_ms * 1000)
        (output,) = self._outputs
        outputs = [self._bundle(output, batch.records, held_at)] if batch.records else []
        outputs += self._wakes(batch, held_at)
        begin = PBegin(read.pipeline)
        heartbeat = self._bundle(begin, [b""], watermark)
        feed.handed_out(batch)
        return TransformResult(self, outputs, [heartbeat], None, {None: watermark})

    def _bundle(self, collection: Any, values: Iterable[Any], timestamp: Timestamp) -> Any:
        bundle = self._evaluation_context.create_bundle(collection)
        for value in values:
            bundle.add(GlobalWindows.windowed_value(value, timestamp=timestamp))
        return bundle

    def _wakes(self, batch: Batch, held_at: Timestamp) -> list[Any]:
        """Address restored keys to their agents' steps, past all that leads there."""
        by_namespace = defaultdict(list)
        for namespace, key in batch.wakes:
            # A batch of nothing: the key's state is read, and its timer set.
            by_namespace[namespace].append((key, EnvelopeBatch()))
        return [
            self._bundle(collection, by_namespace[step.transform.dofn.namespace], held_at)
            for collection, steps in self._evaluation_context._value_to_consumers.items()
            for step in steps
            if _is_agent(step) and step.transform.dofn.namespace in by_namespace
        ]

    def _is_quiet(self) -> bool:
        """Whether no other step has a bundle to process or a timer that is firing."""
        watermarks = self._evaluation_context._watermark_manager._transform_to_watermarks
        return not any(
            of_step._fired_timers or of_step._pending
            for step, of_step in watermarks.items()
            if not isinstance(step.transform, LiveRead)
        )


def _is_agent(step: AppliedPTransform) -> bool:
    dofn = getattr(step.transform, "dofn", None)
    return dofn is not None and is_stateful_dofn(dofn) and hasattr(dofn, "namespace")


TransformEvaluatorRegistry._test_evaluators_overrides[LiveRead] = _LiveReadEvaluator
