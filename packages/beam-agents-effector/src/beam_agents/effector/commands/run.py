"""Runs the effector until it is told to stop; returns the exit code."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress

from beam_agents.effector.banner import announce
from beam_agents.effector.errors import EffectorError, SettingsError
from beam_agents.effector.logs import configure_logs
from beam_agents.effector.preparation import Prepared, prepare
from beam_agents.effector.schemes import open_sink, open_source, open_store
from beam_agents.effector.service import EffectorService
from beam_agents.intents.topics import mask_uri

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
    return asyncio.run(_serve(prepared))


async def _serve(prepared: Prepared) -> int:
    try:
        service = build_service(prepared)
    except EffectorError as error:
        _complain(str(error))
        return error.exit_code
    signals = _stop_on_signals(service)
    code = await _ending(service)
    if len(signals) > 1:
        code = 128 + signals[-1]
    if len(signals) > 1 or service.running_tools:
        # Without waiting for what does not end: it is why people signal twice, and
        # the loop, when it closes, waits for every task that ignores its cancellation.
        _leave_now(code)
    return code


async def _ending(service: EffectorService) -> int:
    """Run the service to its end, and return what the process should say of it."""
    try:
        await service.run()
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
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    return signals


def build_service(prepared: Prepared) -> EffectorService:
    """Put a service together; connects nothing."""
    settings, connections = prepared.settings, prepared.settings.connections()
    approvals, dead_letters = settings.approvals_to, settings.dead_letters_to
    return EffectorService(
        registry=prepared.registry,
        source=open_source(settings.intents_from, connections),
        results=open_sink(settings.results_to, connections),
        store=open_store(settings.dedup, connections),
        options=prepared.options,
        approvals=open_sink(approvals, connections) if approvals else None,
        dead_letters=open_sink(dead_letters, connections) if dead_letters else None,
        intent_keys=prepared.intent_keys,
        approval_keys=prepared.approval_keys,
        signer=prepared.signer,
        refused_tools=prepared.refused_tools,
    )


def _leave_now(code: int) -> None:
    logging.shutdown()
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def _complain(mistake: str) -> None:
    print(f"beam-agents-effector: {mask_uri(mistake)}", file=sys.stderr)  # noqa: T201
