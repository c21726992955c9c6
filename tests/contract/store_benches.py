"""Benches of the stores that need no server, for the contract and the differential tests."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.backends.sqlite_store import SqliteStore
from beam_agents.effector.ports import DedupStore
from beam_agents.effector.testing.hand_clock import HandClock
from beam_agents.effector.testing.store_bench import RESULT_TTL_MS, StoreBench


class MemoryBench(StoreBench):
    def __init__(self) -> None:
        self._clock = HandClock()
        self._memory = MemoryStore(result_ttl_ms=RESULT_TTL_MS, clock=self._clock)
        super().__init__(self._memory)

    async def advance(self, ms: int) -> None:
        self._clock.advance(ms)

    async def another_client(self) -> DedupStore:
        return self._memory

    async def lose_records(self) -> None:
        self._memory._records.clear()
        self._memory._grants.clear()
        self._memory._ends.clear()

    async def now_ms(self) -> int:
        return self._clock.now_ms()


class SqliteBench(StoreBench):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._clock = HandClock()
        self._clients = [self._client()]
        super().__init__(self._clients[0])

    def _client(self) -> SqliteStore:
        return SqliteStore(self._path, result_ttl_ms=RESULT_TTL_MS, clock=self._clock)

    async def advance(self, ms: int) -> None:
        self._clock.advance(ms)

    async def another_client(self) -> DedupStore:
        client = self._client()
        await client.open()
        self._clients.append(client)
        return client

    async def lose_records(self) -> None:
        with sqlite3.connect(self._path) as connection:
            connection.execute("DELETE FROM dedup_intents")
            connection.execute("DELETE FROM dedup_grants")

    async def now_ms(self) -> int:
        return self._clock.now_ms()

    async def aclose(self) -> None:
        for client in self._clients:
            await client.aclose()
