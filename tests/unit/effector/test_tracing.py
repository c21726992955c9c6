"""Spans of intents, as an OpenTelemetry exporter gets them from a real service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.effector.backends.memory_log import MemorySink, MemoryTopic
from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.config import EffectorOptions
from beam_agents.effector.ports import Headers
from beam_agents.effector.service import EffectorService
from beam_agents.effector.testing.quiet import let_callbacks_run
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.effector.tracing import IntentTraceIds, TracedResults, Tracing
from beam_agents.tools import ToolRegistry, tool
from tests.unit.effector.requests import request

_PHASES = ["verify", "refuse_expired", "claim", "execute", "complete", "publish", "commit"]
_SENDER = 0x00F067AA0BA902B7


@tool(name="charge", side_effect=True)
async def charge() -> str:
    """Charge, and say so in the span of the moment."""
    trace.get_current_span().add_event("charged")
    return "charged"


@tool(name="charge", side_effect=True)
def charge_on_a_thread() -> str:
    """Charge, and say so in the span of the moment."""
    trace.get_current_span().add_event("charged")
    return "charged"


@tool(name="charge", side_effect=True)
async def fail() -> str:
    """Fail."""
    raise ValueError("no such account")


class _Telling(MemorySink):
    """Tells when a record is there."""

    def __init__(self, topic: MemoryTopic, published: asyncio.Event) -> None:
        super().__init__(topic)
        self._published = published

    async def publish(self, *, key: bytes, value: bytes, headers: Headers = ()) -> None:
        await super().publish(key=key, value=value, headers=headers)
        self._published.set()


class Traced:
    """A service in memory whose spans are kept."""

    def __init__(self, charge: object = charge) -> None:
        self.exporter = InMemorySpanExporter()
        ids = IntentTraceIds()
        self.provider = TracerProvider(id_generator=ids)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        clock = SteppedClock()
        self.intents = MemoryTopic("intents", clock=clock)
        self.results = MemoryTopic("results", clock=clock)
        self.tracing = Tracing(self.provider, ids)
        self.source = self.intents.source()
        self.published = asyncio.Event()
        self.service = EffectorService(
            registry=ToolRegistry(charge),  # type: ignore[arg-type]
            source=self.source,
            results=TracedResults(_Telling(self.results, self.published)),
            store=MemoryStore(clock=clock),
            options=EffectorOptions(commit_interval_ms=0),
            clock=clock,
            probe=self.tracing,
        )

    async def send(self, value: bytes, headers: Headers = ()) -> None:
        self.intents.append(key=b"acct-1", value=value, headers=headers)
        await let_callbacks_run()

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.exporter.get_finished_spans()}

    @property
    def root(self) -> ReadableSpan:
        return next(span for name, span in self.spans.items() if name.startswith("intent"))


@asynccontextmanager
async def running(charge: object = charge) -> AsyncIterator[Traced]:
    traced = Traced(charge)
    task = asyncio.ensure_future(traced.service.run())
    await let_callbacks_run()
    yield traced
    traced.service.stop()
    traced.service.stop()
    await task


def traceparent(trace_id: int) -> Headers:
    return (("traceparent", b"00-%032x-%016x-01" % (trace_id, _SENDER)),)


def id_of(span: ReadableSpan) -> tuple[int, int]:
    context = span.get_span_context()
    assert context is not None
    return context.trace_id, context.span_id


def intent_trace_id() -> int:
    return int.from_bytes(request().trace_id, "big")


async def test_an_intent_is_a_span_in_the_trace_of_its_activation() -> None:
    async with running() as traced:
        await traced.send(request().SerializeToString())

    assert traced.root.name == "intent charge"
    assert id_of(traced.root)[0] == intent_trace_id()
    assert traced.root.parent is None
    assert dict(traced.root.attributes or {})["beam_agents.intent_id"] == request().intent_id


async def test_each_phase_is_a_child_of_its_intent_in_order() -> None:
    async with running() as traced:
        await traced.send(request().SerializeToString())

    phases = [span for span in traced.exporter.get_finished_spans() if span.name in _PHASES]
    assert [span.name for span in phases] == _PHASES
    for span in phases:
        assert span.parent is not None
        assert (span.parent.trace_id, span.parent.span_id) == id_of(traced.root)


async def test_the_span_of_a_sender_in_the_same_trace_is_the_parent() -> None:
    async with running() as traced:
        await traced.send(request().SerializeToString(), traceparent(intent_trace_id()))

    assert traced.root.parent is not None
    assert traced.root.parent.span_id == _SENDER
    assert id_of(traced.root)[0] == intent_trace_id()


async def test_the_span_of_a_sender_in_another_trace_is_a_link() -> None:
    async with running() as traced:
        await traced.send(request().SerializeToString(), traceparent(0xABC))

    assert id_of(traced.root)[0] == intent_trace_id()
    assert [link.context.trace_id for link in traced.root.links] == [0xABC]


@pytest.mark.parametrize(
    "header", [b"", b"\xff\xfe", b"00-0-0-00", b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01"]
)
async def test_a_header_that_names_no_span_changes_nothing(header: bytes) -> None:
    async with running() as traced:
        await traced.send(request().SerializeToString(), (("traceparent", header),))

    assert id_of(traced.root)[0] == intent_trace_id()
    assert (traced.root.parent, list(traced.root.links)) == (None, [])


async def test_an_intent_without_a_trace_id_goes_on_in_the_trace_of_its_header() -> None:
    intent = request()
    intent.trace_id = b""
    async with running() as traced:
        await traced.send(intent.SerializeToString(), traceparent(0xABC))

    assert id_of(traced.root)[0] == 0xABC


async def test_a_result_carries_the_trace_on() -> None:
    async with running() as traced:
        await traced.send(request().SerializeToString())

    [record] = traced.results.partitions[0]
    trace_id, span_id = id_of(traced.spans["publish"])
    assert dict(record.headers)["traceparent"] == b"00-%032x-%016x-03" % (trace_id, span_id)
    assert ToolResult.FromString(record.value or b"").trace_id == request().trace_id


@pytest.mark.parametrize("tool", [charge, charge_on_a_thread], ids=["async", "sync"])
async def test_a_tool_runs_in_the_span_of_its_execution(tool: object) -> None:
    async with running(tool) as traced:
        await traced.send(request().SerializeToString())
        await traced.published.wait()

    events = [event.name for event in traced.spans["execute"].events]
    assert events == ["invoke", "charged"]


async def test_a_failed_tool_is_an_error_in_the_span_that_publishes_it() -> None:
    async with running(fail) as traced:
        await traced.send(request().SerializeToString())

    publish = traced.spans["publish"]
    assert publish.status.status_code is StatusCode.ERROR
    assert dict(publish.attributes or {})["beam_agents.status"] == "ERROR"


@pytest.mark.parametrize("value", [b"", b"\xff", ToolIntent().SerializeToString()])
async def test_a_record_that_drives_nothing_is_a_span_too(value: bytes) -> None:
    async with running() as traced:
        await traced.send(value)

    assert traced.root.name == "intent "
    assert "execute" not in traced.spans


async def test_a_redelivery_is_in_the_same_trace() -> None:
    async with running() as traced:
        for _ in range(2):
            await traced.send(request().SerializeToString())

    spans = traced.exporter.get_finished_spans()
    roots = [span for span in spans if span.name == "intent charge"]
    assert {id_of(span)[0] for span in roots} == {intent_trace_id()}
    assert len(roots) == 2


async def test_spans_of_a_lost_partition_end() -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    hanging: Callable[[], object] = hang
    async with running(tool(name="charge", side_effect=True)(hanging)) as traced:
        await traced.send(request().SerializeToString())
        traced.source.give_up({0})

        assert [event.name for event in traced.root.events] == ["partition lost"]
