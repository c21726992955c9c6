"""`--otel`: a span for each intent and for each of its phases, in the trace of its activation.

The trace id is the intent's, which its result carries on; so what the agent, the
effector and the tool did is one trace, whoever restarts in between. A `traceparent`
header of the intent's record is the parent where it belongs to that trace, and a
link where it does not. The result's record gets a `traceparent` of its own. Only
what looks on is here: no phase knows of it.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from google.protobuf.message import DecodeError
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Link, Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.effector.logs import key_digest
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import Delivery, Headers, Sink
from beam_agents.effector.probe import Probe

_HEADERS = ("traceparent", "tracestate")
_PROPAGATOR = TraceContextTextMapPropagator()
_NAME = "beam_agents.effector"
# These are told of by other tasks than the one that carries the intent.
_ELSEWHERE = (Phase.VERIFY, Phase.COMMIT)


class IntentTraceIds(RandomIdGenerator):
    """Gives the next root span the trace id that it is to have."""

    def __init__(self) -> None:
        self.next: int | None = None

    def generate_trace_id(self) -> int:
        """Return that trace id, or a random one."""
        given, self.next = self.next, None
        return given or super().generate_trace_id()


@dataclass(slots=True)
class _Traced:
    """The spans of one delivery."""

    delivery: Delivery
    root: Span
    phase: Span | None = None

    def end_phase(self) -> None:
        if self.phase is not None:
            self.phase.end()
            self.phase = None


class Tracing(Probe):
    """Follows deliveries from their arrival to their commit.

    Args:
        provider: Makes the spans.
        trace_ids: Its generator of ids.
    """

    def __init__(self, provider: TracerProvider, trace_ids: IntentTraceIds) -> None:
        self._tracer: Tracer = provider.get_tracer(_NAME)
        self._trace_ids = trace_ids
        self._traced: dict[int, _Traced] = {}

    def enter(self, phase: Phase, delivery: Delivery) -> None:
        """Begin the span of a phase; at the first, that of the intent."""
        if phase is Phase.VERIFY:
            self._traced[id(delivery)] = _Traced(delivery, self._begin(delivery))
        traced = self._traced.get(id(delivery))
        if traced is None:
            return
        traced.end_phase()  # one that was broken off, to be tried again
        parent = trace.set_span_in_context(traced.root)
        traced.phase = self._tracer.start_span(phase.value, parent)
        if phase not in _ELSEWHERE:
            # For what the phase calls: a tool's own spans become its children.
            context.attach(trace.set_span_in_context(traced.phase))

    def leave(self, phase: Phase, delivery: Delivery) -> None:
        """End the span of a phase; after the last, that of the intent."""
        traced = self._traced.get(id(delivery))
        if traced is None:
            return
        traced.end_phase()
        if phase is Phase.COMMIT:
            traced.root.end()
            del self._traced[id(delivery)]

    def invoke(self, intent: ToolIntent) -> None:
        """Note that the tool is called now."""
        trace.get_current_span().add_event("invoke", {"tool": intent.tool_name})

    def count(self, event: str) -> None:
        """Note an event where it belongs to an intent."""
        trace.get_current_span().add_event(event)

    def lose(self, partitions: Collection[str]) -> None:
        """End the spans of what another worker has now."""
        for name, traced in list(self._traced.items()):
            if traced.delivery.partition in partitions:
                traced.end_phase()
                traced.root.add_event("partition lost")
                traced.root.end()
                del self._traced[name]

    def _begin(self, delivery: Delivery) -> Span:
        intent = ToolIntent()
        with suppress(DecodeError):
            intent = ToolIntent.FromString(delivery.value or b"")
        wanted = int.from_bytes(intent.trace_id, "big") if len(intent.trace_id) == 16 else 0
        sent = trace.get_current_span(_PROPAGATOR.extract(_carrier(delivery.headers)))
        sender = sent.get_span_context()
        is_parent = sender.is_valid and wanted in (0, sender.trace_id)
        self._trace_ids.next = None if is_parent else wanted
        return self._tracer.start_span(
            f"intent {intent.tool_name}",
            trace.set_span_in_context(sent) if is_parent else context.Context(),
            kind=SpanKind.CONSUMER,
            links=[] if is_parent or not sender.is_valid else [Link(sender)],
            attributes={
                "beam_agents.intent_id": intent.intent_id,
                "beam_agents.key_digest": key_digest(intent.entity_key),
                "beam_agents.namespace": intent.namespace,
                "beam_agents.tool": intent.tool_name,
                "messaging.destination.partition.id": delivery.partition,
                "messaging.kafka.offset": delivery.offset,
            },
        )


class TracedResults:
    """The results topic: says in the span what came out, and hands the trace on.

    Args:
        sink: The topic; see `Sink` for what each call means.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.open = sink.open
        self.check = sink.check
        self.aclose = sink.aclose

    async def publish(self, *, key: bytes, value: bytes, headers: Headers = ()) -> None:
        """Pass on, under a header that names the span."""
        _describe(trace.get_current_span(), ToolResult.FromString(value))
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        passed_on = tuple((name, text.encode()) for name, text in carrier.items())
        await self._sink.publish(key=key, value=value, headers=(*headers, *passed_on))


def _describe(span: Span, result: ToolResult) -> None:
    status = ToolResult.Status.Name(result.status)
    span.set_attributes(
        {
            "beam_agents.status": status,
            "beam_agents.outcome": ToolResult.Outcome.Name(result.outcome),
            "beam_agents.attempt": result.attempt,
        }
    )
    if result.status == ToolResult.ERROR:
        span.set_status(StatusCode.ERROR)


def _carrier(headers: Headers) -> dict[str, str]:
    return {name: value.decode(errors="replace") for name, value in headers if name in _HEADERS}
