"""Tells whether an effector with these settings could work, and what keeps it from it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from beam_agents.effector.clock import SystemClock
from beam_agents.effector.commands.connecting import complain
from beam_agents.effector.errors import EffectorError, SettingsError
from beam_agents.effector.ports import Browser, DedupStore, Sink
from beam_agents.effector.preparation import Prepared, prepare
from beam_agents.effector.schemes import BROWSERS, open_browser, open_sink, open_store
from beam_agents.intents.topics import mask_uri

UNWELL = 1
Look: TypeAlias = Callable[[], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, and what is wrong with it, if anything is."""

    subject: str
    fine: str
    problem: str = ""


def examine(given: Mapping[str, object]) -> int:
    """Check settings, registry and keys, then ask each server; perform nothing.

    Returns:
        0 if all is well, 2 for a mistake in the settings, 1 where a server cannot be used.
    """
    try:
        prepared = prepare(given, os.environ)
    except SettingsError as error:
        for mistake in error.mistakes:
            complain(mistake, error.exit_code)
        return error.exit_code
    findings = [*_settings(prepared), *asyncio.run(_servers(prepared))]
    for each in findings:
        verdict = "PROBLEM" if each.problem else "ok"
        print(mask_uri(f"{verdict:<8} {each.subject:<14} {each.problem or each.fine}"))  # noqa: T201
    return UNWELL if any(each.problem for each in findings) else 0


def _settings(prepared: Prepared) -> Iterator[Finding]:
    settings = prepared.settings
    side_effects = [tool for tool in prepared.registry if tool.side_effect]
    yield Finding("registry", f"{settings.registry}: {len(side_effects)} tools with side effects")
    unkeyed = sorted(tool.name for tool in side_effects if not tool.takes_intent)
    if unkeyed:
        names = ", ".join(unkeyed)
        yield Finding("at least once", f"these take no IntentInfo, and may run again: {names}")
    yield Finding("verification", f"--verify-intents {settings.verify_intents}")


async def _servers(prepared: Prepared) -> list[Finding]:
    settings, connections = prepared.settings, prepared.settings.connections()
    looks: list[tuple[str, str, Look]] = []
    if settings.intents_from.partition("://")[0] in BROWSERS:
        browser = open_browser(settings.intents_from, connections)
        looks.append(("intents", settings.intents_from, partial(_browsed, browser)))
    for name, uri in [
        ("results", settings.results_to),
        ("approvals", settings.approvals_to),
        ("dead letters", settings.dead_letters_to),
    ]:
        if uri is not None:
            looks.append((name, uri, partial(_reached, open_sink(uri, connections))))
    store = open_store(settings.dedup, connections)
    looks.append(("dedup", settings.dedup, partial(_asked, store, settings.max_clock_skew_ms)))
    return [await _found(name, uri, look) for name, uri, look in looks]


async def _found(name: str, uri: str, look: Look) -> Finding:
    try:
        return Finding(name, f"{uri}: {await look()}")
    except (EffectorError, ConnectionError, TimeoutError, ValueError) as error:
        return Finding(name, "", f"{uri}: {error}")


async def _browsed(browser: Browser) -> str:
    try:
        await browser.open()
        return f"can be read, {browser.extent} places"
    finally:
        await browser.aclose()


async def _reached(sink: Sink) -> str:
    try:
        await sink.open()
        await sink.check()
    finally:
        await sink.aclose()
    return "can be reached"


async def _asked(store: DedupStore, max_clock_skew_ms: int) -> str:
    try:
        await store.open()
        store_ms = await store.now_ms()
    finally:
        await store.aclose()
    if store_ms is None:
        return "answers; it has no clock, so leases go by the workers'"
    skew_ms = store_ms - SystemClock().now_ms()
    if abs(skew_ms) > max_clock_skew_ms:
        raise ValueError(
            f"its clock and ours are {abs(skew_ms)} ms apart, more than "
            f"--max-clock-skew-ms {max_clock_skew_ms}: mend the clock of one of the hosts"
        )
    return f"answers; its clock and ours are {abs(skew_ms)} ms apart"
