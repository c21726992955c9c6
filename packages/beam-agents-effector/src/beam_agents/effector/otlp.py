"""Sends spans to an OpenTelemetry collector, as the environment's `OTEL_…` variables say."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from beam_agents.effector.tracing import IntentTraceIds, Tracing

_LOG = logging.getLogger(__name__)

_SERVICE = "beam-agents-effector"
_LAST_SPANS_S = 3.0


def make_tracing() -> tuple[TracerProvider, Tracing]:
    """Make what traces, and what sends the traces from a thread of its own; connects nothing."""
    trace_ids = IntentTraceIds()
    ours = Resource.create({"service.name": _SERVICE})
    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go before what we say.
    resource = ours.merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource, id_generator=trace_ids, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)  # so that the spans of tools join in
    return provider, Tracing(provider, trace_ids)


@asynccontextmanager
async def exporting(provider: TracerProvider) -> AsyncIterator[None]:
    """Send what is left on leaving; a collector that is down keeps nobody for long."""
    try:
        yield
    finally:
        loop, sent = asyncio.get_running_loop(), asyncio.Event()

        def send() -> None:
            provider.shutdown()
            with suppress(RuntimeError):  # closed: the process has left without us
                loop.call_soon_threadsafe(sent.set)

        threading.Thread(target=send, name="last-spans", daemon=True).start()
        try:
            await asyncio.wait_for(sent.wait(), _LAST_SPANS_S)
        except asyncio.TimeoutError:
            _LOG.warning("the collector did not take the last spans within %g s", _LAST_SPANS_S)
