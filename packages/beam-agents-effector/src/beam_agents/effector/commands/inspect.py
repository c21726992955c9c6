"""Tells what the dedup store knows of one intent; changes nothing."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from beam_agents.effector.clock import SystemClock
from beam_agents.effector.errors import EffectorError, OperatorError
from beam_agents.effector.ports import DedupRecord, DedupStore
from beam_agents.effector.reading import read_setting
from beam_agents.effector.record_in_words import record_in_words
from beam_agents.effector.schemes import Connections, open_store
from beam_agents.effector.settings import SETTINGS_BY_NAME
from beam_agents.intents.topics import mask_uri

NO_RECORD = 3
_SILENT = 1
_MISTAKE = 2


def inspect(intent_id: str, dedup: str | None) -> int:
    """Print the record of an intent.

    Returns:
        0 with a record, 3 without one, 1 where the store does not answer, 2 for a mistake.
    """
    try:
        store = _store(dedup)
        record, now_ms = asyncio.run(_looked_up(store, intent_id))
    except ValueError as error:
        return _complain(str(error), _MISTAKE)
    except EffectorError as error:
        return _complain(str(error), error.exit_code)
    except (ConnectionError, TimeoutError) as error:
        return _complain(str(error), _SILENT)
    if record is None:
        return _complain(
            f"no record of intent {intent_id!r}: it was never claimed, or its record has ended",
            NO_RECORD,
        )
    for heading, sentence in [("intent", intent_id), *record_in_words(record, now_ms)]:
        print(f"{heading:<12} {sentence}")  # noqa: T201
    return 0


def _store(dedup: str | None) -> DedupStore:
    def read(name: str) -> str | None:
        value = read_setting(SETTINGS_BY_NAME[name], {"dedup": dedup}, os.environ)
        return None if value is None else str(value)

    uri = read("dedup")
    if uri is None or uri.startswith("memory:"):
        raise OperatorError("a store in memory can only be seen by the process that it is in")
    if uri.startswith("sqlite:"):
        path = unquote(urlsplit(uri).path).removeprefix("/")
        if not Path(path).exists():
            raise OperatorError(f"there is no file {path!r}")
    connections = Connections(
        consumer_group="",
        result_ttl_ms=1,  # of records that are written, and nothing is
        redis_username=read("redis_username"),
        redis_password=read("redis_password"),
        redis_ca_file=read("redis_ca_file"),
    )
    return open_store(uri, connections)


async def _looked_up(store: DedupStore, intent_id: str) -> tuple[DedupRecord | None, int]:
    await store.open()
    try:
        store_ms = await store.now_ms()
        now_ms = SystemClock().now_ms() if store_ms is None else store_ms
        return await store.lookup(intent_id), now_ms
    finally:
        await store.aclose()


def _complain(mistake: str, code: int) -> int:
    print(f"beam-agents-effector: {mask_uri(mistake)}", file=sys.stderr)  # noqa: T201
    return code
