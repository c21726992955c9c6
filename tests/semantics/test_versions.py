"""Workers of several releases on one store: an older record goes on, a newer one is left alone."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from beam_agents.effector.backends import sqlite_records
from beam_agents.effector.backends.sqlite_store import SqliteStore
from beam_agents.effector.dedup import RECORD_VERSION
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.intents import Outcome, Status
from beam_agents.intents.fingerprint import fingerprint
from beam_agents.tools import ToolRegistry, tool
from tests.unit.effector.requests import LEASE_MS, NOW_MS, request

_TTL_MS = 90_000
INTENT = request(ttl_ms=_TTL_MS)


@tool(side_effect=True)
async def charge() -> str:
    """Charge."""
    return "charged"


class OneFile:
    """The file of a store, and what other releases write into it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = SteppedClock()

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[EffectorHarness]:
        store = SqliteStore(self.path, clock=self.clock)
        async with EffectorHarness(ToolRegistry(charge), store=store, clock=self.clock) as effector:
            yield effector

    def claimed_by(self, version: int) -> None:
        """Let a worker of another release hold the claim of `INTENT`, and mark its tool."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(
                "INSERT INTO dedup_intents VALUES (?, ?, ?, 1, 'another', ?, '1', NULL, ?)",
                (
                    INTENT.intent_id,
                    version,
                    fingerprint(INTENT),
                    NOW_MS + LEASE_MS,
                    NOW_MS + 86_400_000,
                ),
            )

    def version(self) -> int:
        with closing(sqlite3.connect(self.path)) as connection:
            [(version,)] = connection.execute("SELECT version FROM dedup_intents")
            return int(version)


@pytest.fixture
def file(tmp_path: Path) -> OneFile:
    return OneFile(tmp_path / "dedup.db")


async def test_an_intent_that_an_older_release_claimed_goes_on_after_its_lease(
    file: OneFile,
) -> None:
    async with file.worker() as effector:
        file.claimed_by(RECORD_VERSION - 1)
        await effector.deliver(INTENT)
        await effector.settle()
        assert effector.calls("charge") == 0

        await effector.advance(LEASE_MS)

        [result] = effector.results
        assert (result.status, result.attempt) == (Status.OK, 2)
        assert file.version() == RECORD_VERSION


async def test_an_intent_that_a_newer_release_claimed_is_never_executed(
    file: OneFile, caplog: pytest.LogCaptureFixture
) -> None:
    async with file.worker() as effector:
        file.claimed_by(RECORD_VERSION + 1)
        with caplog.at_level(logging.WARNING):
            await effector.deliver(INTENT)
            await effector.advance(_TTL_MS - 1)

        assert effector.calls("charge") == 0
        assert (effector.results, effector.committed()) == ([], 0)
        assert "upgrade this worker" in caplog.text


async def test_other_intents_go_on_beside_one_of_a_newer_release(file: OneFile) -> None:
    async with file.worker() as effector:
        file.claimed_by(RECORD_VERSION + 1)
        await effector.deliver(INTENT)
        await effector.deliver(request(key=b"acct-2"))
        await effector.settle()

        assert [result.entity_key for result in effector.results] == [b"acct-2"]


async def test_an_upgraded_worker_goes_on_with_what_the_older_one_left_alone(
    file: OneFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with file.worker() as effector:
        file.claimed_by(RECORD_VERSION + 1)
        await effector.deliver(INTENT)
        await effector.advance(2 * LEASE_MS)
        await effector.stop()

        monkeypatch.setattr(sqlite_records, "RECORD_VERSION", RECORD_VERSION + 1)
        await effector.restart()
        await effector.settle()

        assert [result.status for result in effector.results] == [Status.OK]
        assert effector.committed() == 1


async def test_the_agent_hears_in_time_of_an_intent_that_only_newer_workers_can_judge(
    file: OneFile,
) -> None:
    async with file.worker() as effector:
        file.claimed_by(RECORD_VERSION + 1)
        await effector.deliver(INTENT)
        await effector.advance(_TTL_MS + 30_000)

        [result] = effector.results
        assert (result.status, result.outcome) == (Status.EXPIRED, Outcome.UNKNOWN)
        assert effector.committed() == 0
