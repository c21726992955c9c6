"""Transforms from records to keyed envelopes; what is none of them goes to `.errors`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.transforms.window import TimestampedValue

from beam_agents._protos import ActivationErrorRecord, AgentEnvelope
from beam_agents.core.clock import EARLIEST_MS, LATEST_MS
from beam_agents.core.metrics import NAMESPACE
from beam_agents.io.decoding import (
    Decoded,
    EventFields,
    Skipped,
    Undecodable,
    decision_of,
    envelope_of,
    error_record,
    result_of,
)

_ERRORS = "errors"


class Envelopes(NamedTuple):
    """What a reader gives.

    Attributes:
        envelopes: `tuple[bytes, AgentEnvelope]`, for `RunAgent`; each at its event time.
        errors: `ActivationErrorRecord`s, reason `undecodable`, of records that are none.
    """

    envelopes: PCollection[tuple[bytes, AgentEnvelope]]
    errors: PCollection[ActivationErrorRecord]


class ToEnvelopes(beam.PTransform[Any, Envelopes]):
    """Decodes each element, and takes the envelope's event time as its timestamp."""

    def __init__(self, decode: Callable[[Any], Decoded]) -> None:
        super().__init__()
        self._decode = decode

    def expand(self, records: PCollection[Any]) -> Envelopes:
        """Apply the decoder."""
        decoded = records | "Decode" >> beam.ParDo(_Decode(self._decode)).with_outputs(
            _ERRORS, main="envelopes"
        )
        # Typed here, since without it the key's coder would not be known to be deterministic.
        envelopes = decoded.envelopes | "Envelopes" >> beam.Map(_same).with_output_types(
            tuple[bytes, AgentEnvelope]
        )
        errors = decoded.errors | "Errors" >> beam.Map(_same).with_output_types(
            ActivationErrorRecord
        )
        return Envelopes(envelopes, errors)


class EnvelopesToEnvelopes(ToEnvelopes):
    """Serialized `AgentEnvelope`s, as `bytes` or `InboundRecord`."""

    def __init__(self) -> None:
        super().__init__(envelope_of)


class EventsToEnvelopes(ToEnvelopes):
    """The user's own records; the functions get each element as it is.

    Args:
        key: Gives the entity key; a record without one goes to `.errors`.
        event_time_ms: By default the record's timestamp, or now.
        event_id: The producer's own id of an event, by which repeats are dropped.
        payload: What the agent gets as `ctx.event`; by default the record's value.
    """

    def __init__(
        self,
        *,
        key: Callable[[Any], bytes | None],
        event_time_ms: Callable[[Any], int] | None = None,
        event_id: Callable[[Any], str] | None = None,
        payload: Callable[[Any], bytes] | None = None,
    ) -> None:
        super().__init__(EventFields(key, event_time_ms, event_id, payload))


class ResultsToEnvelopes(ToEnvelopes):
    """Serialized `ToolResult`s, as `bytes` or `InboundRecord`."""

    def __init__(self) -> None:
        super().__init__(result_of)


class DecisionsToEnvelopes(ToEnvelopes):
    """Serialized decisions; approval requests on the same topic are skipped and counted."""

    def __init__(self) -> None:
        super().__init__(decision_of)


class _Decode(beam.DoFn):
    def __init__(self, decode: Callable[[Any], Decoded]) -> None:
        self._decode = decode
        self._skipped = Metrics.counter(NAMESPACE, "skipped_intents")

    def process(self, element: Any) -> Iterable[Any]:
        """Emit the envelope, or why there is none."""
        try:
            decoded = self._decode(element)
        except Undecodable as error:
            yield TaggedOutput(_ERRORS, error_record(element, error))
            return
        if isinstance(decoded, Skipped):
            self._skipped.inc()
            return
        event_time_ms = decoded[1].event_time_ms
        # Beam's own range ends sooner than int64 milliseconds; RunAgent judges such times.
        yield TimestampedValue(decoded, max(EARLIEST_MS, min(event_time_ms, LATEST_MS)) / 1000)


def _same(element: Any) -> Any:
    return element
