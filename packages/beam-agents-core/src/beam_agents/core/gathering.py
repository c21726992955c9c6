"""The step before the keys' state: it checks elements, and gathers those of one key.

Beam's cost of an element with a state and a timer is paid for each element that crosses
the shuffle. A bundle's envelopes of one key cross it together, in their order, each with
the timestamp of its own element; `RunAgentDoFn` waits for the end of its bundle anyhow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import apache_beam as beam
from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue, create

from beam_agents._protos import ActivationErrorRecord, AgentEnvelope
from beam_agents._protos.state_pb2 import EnvelopeBatch
from beam_agents.core import error_log

Gathered: TypeAlias = tuple[bytes, EnvelopeBatch]

MALFORMED = "errors"
_WINDOWS = (GlobalWindow(),)
# Pass on what was gathered at so many envelopes or bytes, so that a large bundle does not
# fill the memory, nor one key's batch a message.
_MOST_ENVELOPES = 1_000
_MOST_BYTES = 4 << 20


class GatherEnvelopes(beam.DoFn):
    """Turns `(key, AgentEnvelope)` into `(key, EnvelopeBatch)`, and reports what is none."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace

    def start_bundle(self) -> None:
        """Forget what an attempt that failed had gathered."""
        self._gathered: dict[bytes, tuple[list[AgentEnvelope], list[int]]] = {}
        self._envelopes = self._bytes = 0

    def process(
        self, element: Any, cause: Any = beam.DoFn.WindowedValueParam
    ) -> Iterable[Any] | None:
        """Gather an envelope, or tell what keyed elements are made of."""
        match element:
            case (bytes() as key, AgentEnvelope() as envelope):
                return self._gather(key, envelope, cause)
            case (key, AgentEnvelope() as envelope):
                kind = type(key).__name__
                problem = f"the key must be bytes, not {kind}: encode it, as by str.encode()"
                return (self._malformed(problem, envelope),)
            case _:
                problem = f"{element!r:.200} must be (bytes, AgentEnvelope)"
                return (self._malformed(problem, None),)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Pass on what was gathered."""
        return self._pass_on()

    def _gather(
        self, key: bytes, envelope: AgentEnvelope, cause: WindowedValue
    ) -> Iterator[WindowedValue] | None:
        gathered = self._gathered.get(key)
        if gathered is None:
            gathered = self._gathered[key] = ([], [])
        envelopes, timestamps_us = gathered
        envelopes.append(envelope)
        timestamps_us.append(cause.timestamp_micros)
        self._envelopes += 1
        self._bytes += envelope.ByteSize()
        if self._envelopes < _MOST_ENVELOPES and self._bytes < _MOST_BYTES:
            return None
        return self._pass_on()

    def _pass_on(self) -> Iterator[WindowedValue]:
        gathered, self._gathered = self._gathered, {}
        self._envelopes = self._bytes = 0
        for key, (envelopes, timestamps_us) in gathered.items():
            batch = EnvelopeBatch(envelopes=envelopes, timestamps_us=timestamps_us)
            # The earliest: until it is handled, time must not pass any of them.
            yield create((key, batch), min(timestamps_us), _WINDOWS)

    def _malformed(self, detail: str, envelope: AgentEnvelope | None) -> Any:
        record = ActivationErrorRecord(
            reason="malformed", detail=detail, envelope=envelope, namespace=self._namespace
        )
        error_log.of_process.tell(record)
        return TaggedOutput(MALFORMED, record)
