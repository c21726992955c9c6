"""Tells what the dedup store knows of one intent; changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import unquote, urlsplit

from beam_agents.effector.clock import SystemClock
from beam_agents.effector.commands.connecting import (
    NOT_THERE,
    answering,
    complain,
    connections,
    given_or_set,
)
from beam_agents.effector.errors import OperatorError
from beam_agents.effector.ports import DedupRecord, DedupStore
from beam_agents.effector.record_in_words import record_in_words
from beam_agents.effector.schemes import open_store


def inspect(intent_id: str, dedup: str | None) -> int:
    """Print the record of an intent.

    Returns:
        0 with a record, 3 without one, 1 where the store does not answer, 2 for a mistake.
    """

    def command() -> int:
        record, now_ms = asyncio.run(_looked_up(_store(dedup), intent_id))
        if record is None:
            return complain(
                f"no record of intent {intent_id!r}: it was never claimed, or its record has ended",
                NOT_THERE,
            )
        for heading, sentence in [("intent", intent_id), *record_in_words(record, now_ms)]:
            print(f"{heading:<12} {sentence}")  # noqa: T201
        return 0

    return answering(command)


def _store(dedup: str | None) -> DedupStore:
    uri = given_or_set("dedup", dedup)
    if uri.startswith("memory:"):
        raise OperatorError("a store in memory can only be seen by the process that it is in")
    if uri.startswith("sqlite:"):
        path = unquote(urlsplit(uri).path).removeprefix("/")
        if not Path(path).exists():
            raise OperatorError(f"there is no file {path!r}")
    return open_store(uri, connections())


async def _looked_up(store: DedupStore, intent_id: str) -> tuple[DedupRecord | None, int]:
    await store.open()
    try:
        store_ms = await store.now_ms()
        now_ms = SystemClock().now_ms() if store_ms is None else store_ms
        return await store.lookup(intent_id), now_ms
    finally:
        await store.aclose()
