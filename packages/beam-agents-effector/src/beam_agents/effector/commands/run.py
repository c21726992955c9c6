"""Runs the effector until it is told to stop; returns the exit code."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from beam_agents.effector.banner import announce
from beam_agents.effector.clock import SystemClock
from beam_agents.effector.errors import EffectorError, SettingsError
from beam_agents.effector.event_loop import run_to_end
from beam_agents.effector.garbage import collect_seldom
from beam_agents.effector.logs import configure_logs
from beam_agents.effector.ports import DedupStore, Sink, Source
from beam_agents.effector.preparation import Prepared, prepare
from beam_agents.effector.probe import Probe, Probes
from beam_agents.effector.schemes import open_sink, open_source, open_store
from beam_agents.effector.service import EffectorService
from beam_agents.intents.topics import mask_uri

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

    from beam_agents.effector.observation import Observation

_LOG = logging.getLogger("beam_agents.effector")

_UNEXPECTED = 1


def run(given: Mapping[str, object]) -> int:
    """Serve the settings of the command line and the environment.

    Returns:
        0 after a graceful stop, 2 for what author or operator must mend, 1 for a
        server that cannot be used and for whatever broke, 128 + the signal's number
        where a second signal ended it.
    """
    try:
        prepared = prepare(given, os.environ)
    except SettingsError as error:
        for mistake in error.mistakes:
            _complain(mistake)
        return error.exit_code
    configure_logs(prepared.settings.log_format, prepared.settings.log_level)
    announce(prepared)
    collect_seldom()
    return run_to_end(_serve(prepared))


async def _serve(prepared: Prepared) -> int:
    try:
        built = build_service(prepared)
    except EffectorError as error:
        _complain(str(error))
        return error.exit_code
    service = built.service
    signals = _stop_on_signals(service)
    code = await _ending(built, prepared.settings.http)
    if len(signals) > 1:
        code = 128 + signals[-1]
    if len(signals) > 1 or service.running_tools:
        # Without waiting for what does not end: it is why people signal twice, and
        # the loop, when it closes, waits for every task that ignores its cancellation.
        _leave_now(code)
    return code


async def _ending(built: Built, address: str | None) -> int:
    """Run the service to its end, and return what the process should say of it."""
    try:
        async with AsyncExitStack() as stack:
            if built.traces is not None:
                from beam_agents.effector.otlp import exporting

                await stack.enter_async_context(exporting(built.traces))
            if address is not None and built.watched is not None:
                await _serve_http(stack, address, built.watched)
            await built.service.run()
    except EffectorError as error:
        _complain(str(error))
        return error.exit_code
    except ConnectionError as error:
        _complain(str(error))
        return _UNEXPECTED
    except Exception:
        _LOG.exception("stopped by an error; what was not committed will be delivered again")
        return _UNEXPECTED
    _LOG.info("stopped")
    return 0


async def _serve_http(stack: AsyncExitStack, address: str, watched: Observation) -> None:
    from beam_agents.effector.web import serving

    where = await stack.enter_async_context(serving(address, watched))
    _LOG.info("serving health and metrics", extra={"http": where})


def _stop_on_signals(service: EffectorService) -> list[int]:
    """Let signals stop the service; return the list to which they are added."""
    signals: list[int] = []

    def on_signal(number: int) -> None:
        signals.append(number)
        name = signal.Signals(number).name
        if len(signals) == 1:
            _LOG.info("%s: stopping; once more to stop at once", name)
        service.stop()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            continue  # as `nohup` has it
        loop.add_signal_handler(number, on_signal, number)
    return signals


@dataclass(frozen=True, slots=True)
class Built:
    """A service, and what looks on at it where that is asked for."""

    service: EffectorService
    watched: Observation | None = None
    traces: TracerProvider | None = None


def build_service(prepared: Prepared) -> Built:
    """Put a service together, and what looks on at it; connects nothing."""
    settings, connections = prepared.settings, prepared.settings.connections()
    source = open_source(settings.intents_from, connections)
    store = open_store(settings.dedup, connections)
    sinks = {
        name: open_sink(uri, connections)
        for name, uri in [
            ("results", settings.results_to),
            ("approvals", settings.approvals_to),
            ("dead-letters", settings.dead_letters_to),
        ]
        if uri is not None
    }
    traces, probes = None, list[Probe]()
    if settings.otel:
        from beam_agents.effector.otlp import make_tracing
        from beam_agents.effector.tracing import TracedResults

        traces, tracing = make_tracing()
        probes.append(tracing)
        sinks["results"] = TracedResults(sinks["results"])
    if settings.http is None:
        service = _service(prepared, source, store, sinks, probe=Probes.of(probes))
        return Built(service, traces=traces)
    from beam_agents.effector.observation import Observation

    watched = Observation(
        prepared.registry,
        source=source,
        store=store,
        sinks=sinks,
        clock=SystemClock(),
        max_clock_skew_ms=settings.max_clock_skew_ms,
    )
    probe = Probes.of([watched.unfinished, *probes])
    service = _service(prepared, watched.source, watched.store, watched.sinks, probe=probe)
    watched.watch(service)
    return Built(service, watched, traces)


def _service(
    prepared: Prepared,
    source: Source,
    store: DedupStore,
    sinks: Mapping[str, Sink],
    *,
    probe: Probe,
) -> EffectorService:
    return EffectorService(
        registry=prepared.registry,
        source=source,
        results=sinks["results"],
        store=store,
        options=prepared.options,
        approvals=sinks.get("approvals"),
        dead_letters=sinks.get("dead-letters"),
        intent_keys=prepared.intent_keys,
        approval_keys=prepared.approval_keys,
        signer=prepared.signer,
        refused_tools=prepared.refused_tools,
        probe=probe,
    )


def _leave_now(code: int) -> None:
    logging.shutdown()
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def _complain(mistake: str) -> None:
    print(f"beam-agents-effector: {mask_uri(mistake)}", file=sys.stderr)  # noqa: T201
