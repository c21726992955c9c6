"""A pipeline to time the engine in, and the floor beside it: what Beam alone costs.

Floor and engine get the same envelopes through the same two typed steps, keep one
proto in one state cell, read and written once per key and bundle, and emit for
each element, stamped by what caused it. The floor's body is empty, and sets no
timer. The source makes each envelope as it goes, as a reader of records does.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam.coders import BytesCoder
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.runners.worker import statecache
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec

from beam_agents._protos import AgentEnvelope
from beam_agents._protos.state_pb2 import KeyState
from beam_agents.core.config import AgentConfig
from beam_agents.core.keyed import Keyed
from beam_agents.core.transform import RunAgent

NOW_MS = 1_700_000_000_000
Source = Callable[[], Iterator[Keyed]]
Step = Callable[[Any], object]


def prepare() -> None:
    """Take out of the process what would drown what is measured.

    Beam's state cache sizes each object by a scan of every module, about a
    millisecond a cell (private API: for this alone). What is loaded by now is no
    garbage: the collector need not walk through all of Beam.
    """
    statecache.get_deep_size = lambda *objects: 64
    gc.collect()
    gc.freeze()


def pipeline(source: Source, step: Step) -> Callable[[], None]:
    """Return a run of one pipeline on the in-memory FnApiRunner, from build to end."""

    def run() -> None:
        gc.enable()  # timeit turned it off: the engine is to answer for its garbage
        with beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions([])) as p:
            read = beam.FlatMap(lambda _: source()).with_output_types(Keyed)
            step(p | beam.Impulse() | "Read" >> read)

    return run


def engine(agent: Any, **settings: Any) -> Step:
    return lambda elements: elements | RunAgent(agent, AgentConfig(**settings))


def floor(elements: Any) -> object:
    keyed = elements | "Check" >> beam.Map(lambda each: each).with_output_types(Keyed)
    body = _Floor()  # type: ignore[no-untyped-call]
    return keyed | "Run" >> beam.ParDo(body).with_output_types(bytes)


class _Floor(beam.DoFn):
    CELL = ReadModifyWriteStateSpec("key_state", BytesCoder())
    _CELL = beam.DoFn.StateParam(CELL)

    def start_bundle(self) -> None:
        self._keys: dict[bytes, tuple[KeyState, Any]] = {}

    def process(
        self,
        element: tuple[bytes, AgentEnvelope],
        cause: Any = beam.DoFn.WindowedValueParam,
        cell: Any = _CELL,
    ) -> Iterable[Any]:
        key, envelope = element
        if key not in self._keys:
            self._keys[key] = (KeyState.FromString(cell.read() or b""), cell)
        self._keys[key][0].next_seq += 1
        return (cause.with_value(envelope.external_event),)

    def finish_bundle(self) -> None:
        for state, cell in self._keys.values():
            cell.write(state.SerializeToString())


def events(count: int, per_key: int) -> Source:
    """Events of `count // per_key` keys, each key's in a row."""

    def source() -> Iterator[Keyed]:
        for index in range(count):
            key = b"key-%06d" % (index // per_key)
            yield (
                key,
                AgentEnvelope(
                    entity_key=key,
                    event_time_ms=NOW_MS + index,
                    received_at_ms=NOW_MS + index,
                    external_event=b'{"order": %d}' % index,
                ),
            )

    return source
