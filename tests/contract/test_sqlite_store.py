"""`sqlite:///` under the store contract, and what only a file can get wrong."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from beam_agents.effector.backends.sqlite_records import SqliteRecords
from beam_agents.effector.backends.sqlite_store import SqliteStore
from beam_agents.effector.dedup import UnreadableRecord
from beam_agents.effector.errors import EffectorError, OperatorError
from beam_agents.effector.ports import (
    Claim,
    Claimed,
    Completed,
    DedupRecord,
    Stored,
    StoreUnavailable,
)
from beam_agents.effector.testing.store_bench import (
    FINGERPRINT,
    HOUR_MS,
    LEASE_MS,
    RESULT,
    RESULT_TTL_MS,
    StoreBench,
)
from beam_agents.effector.testing.store_contract import DedupStoreContract
from tests.contract.store_benches import SqliteBench

START_MS = 1_700_000_000_000

INSERT_INTENT = (
    "INSERT OR REPLACE INTO dedup_intents (intent_id, version, fingerprint, attempt, token,"
    " lease_until_ms, invoked, result, keep_until_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dedup.db"


@pytest.fixture
async def bench(path: Path) -> AsyncIterator[StoreBench]:
    bench = SqliteBench(path)
    await bench.start()
    yield bench
    await bench.aclose()


class TestSqliteStore(DedupStoreContract):
    """The whole contract, on the bench above."""


def write(path: Path, statement: str, *values: object) -> None:
    """Write a row as another release might have."""
    with sqlite3.connect(path) as connection:
        connection.execute(statement, values)


def golden_record(intent_id: str, *, version: int = 1, result: bytes | None = None) -> list[object]:
    """A row as release 0.1.0 wrote it: every later release must read it."""
    lease, end = START_MS + LEASE_MS, START_MS + RESULT_TTL_MS
    return [intent_id, version, FINGERPRINT, 3, "old-worker", lease, "1,3", result, end]


def move(path: Path, to: Path) -> None:
    """Move a database as one must: with its log, and over whatever is there."""
    for suffix in ("", "-wal", "-shm"):
        to.with_name(to.name + suffix).unlink(missing_ok=True)
        if (part := path.with_name(path.name + suffix)).exists():
            part.rename(to.with_name(to.name + suffix))


def rows(path: Path, statement: str) -> list[tuple[object, ...]]:
    """Read rows as they lie in the file."""
    with sqlite3.connect(path) as connection:
        return connection.execute(statement).fetchall()


# --- one file, many processes ---

RACER = """
import asyncio, json, sys
from beam_agents.effector.backends.sqlite_store import SqliteStore
from beam_agents.effector.ports import Claimed

async def race(path, name):
    store = SqliteStore(path)
    await store.open()
    now = await store.now_ms()
    won = []
    for n in range(100):
        answer = await store.claim(
            f"i-{n}", b"f" * 32, name, lease_ms=600_000, expires_at_ms=now + 600_000
        )
        if isinstance(answer, Claimed):
            won.append(n)
    await store.aclose()
    print(json.dumps(won))

asyncio.run(race(sys.argv[1], sys.argv[2]))
"""


def test_processes_that_begin_on_one_file_at_once_share_its_claims(path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(path), name], stdout=subprocess.PIPE, text=True
        )
        for name in ("a", "b", "c")
    ]
    outputs = [racer.communicate(timeout=60)[0] for racer in racers]

    won = Counter(n for output in outputs for n in json.loads(output))

    assert won == Counter(range(100))


async def test_another_processs_long_transaction_makes_the_store_unavailable(path: Path) -> None:
    store = SqliteStore(path, call_timeout_ms=1)
    await store.open()
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked"):
            await store.lookup("i")
        other.execute("ROLLBACK")

    assert await store.lookup("i") is None
    await store.aclose()


# --- the disk ---


async def test_what_was_answered_is_on_the_disk(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    records = SqliteRecords.connect(str(path), 1_000)

    assert records._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert records._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    records.close()
    await store.aclose()


async def test_records_survive_a_restart(path: Path) -> None:
    expires_at_ms = 2**50
    first = SqliteStore(path)
    answer = await first.claim(
        "i", FINGERPRINT, "a", lease_ms=LEASE_MS, expires_at_ms=expires_at_ms
    )
    assert isinstance(answer, Claimed)
    await first.complete(answer.claim, FINGERPRINT, RESULT, expires_at_ms=expires_at_ms)
    await first.aclose()

    second = SqliteStore(path)
    assert await second.claim(
        "i", FINGERPRINT, "b", lease_ms=LEASE_MS, expires_at_ms=expires_at_ms
    ) == Completed(RESULT)
    await second.aclose()


async def test_the_calls_of_one_turn_share_a_transaction(bench: StoreBench) -> None:
    await bench.claimed("a")
    assert isinstance(bench.store, SqliteStore)
    assert bench.store._records is not None
    statements: list[str] = []
    bench.store._records._connection.set_trace_callback(statements.append)

    await asyncio.gather(*(bench.claimed("a", intent_id=f"i-{n}") for n in range(50)))

    assert statements.count("COMMIT") == 1


async def test_ended_records_are_deleted(path: Path, bench: StoreBench) -> None:
    await bench.complete(await bench.claimed("a"))
    await bench.store.redeem("g", "i", keep_until_ms=await bench.now_ms() + HOUR_MS)
    await bench.advance(RESULT_TTL_MS)
    await bench.store.lookup("another")

    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM dedup_intents").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM dedup_grants").fetchone() == (0,)


@pytest.fixture
def text_file(path: Path) -> Path:
    path.write_text("accounts, in plain text" * 1_000)
    return path


async def test_a_file_that_is_no_database_is_for_the_operator_to_mend(text_file: Path) -> None:
    store = SqliteStore(text_file)

    with pytest.raises(OperatorError, match=r"dedup\.db.*not a database"):
        await store.open()
    await store.aclose()


async def test_a_folder_that_is_not_there_makes_the_store_unavailable(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "missing" / "dedup.db")

    with pytest.raises(StoreUnavailable, match="unable to open"):
        await store.open()
    (tmp_path / "missing").mkdir()
    await store.open()
    await store.aclose()


# --- a file that is taken away ---


async def test_a_file_that_is_gone_grants_nothing_until_it_is_back(
    path: Path, bench: StoreBench
) -> None:
    claim = await bench.claimed("a")
    move(path, path.with_name("elsewhere"))
    for call in (
        bench.claim("b"),
        bench.store.renew([claim], lease_ms=LEASE_MS),
        bench.complete(claim),
        bench.store.lookup(bench.intent_id),
    ):
        with pytest.raises(StoreUnavailable, match=r"dedup\.db.* is gone .* put it back"):
            await call

    move(path.with_name("elsewhere"), path)

    assert isinstance(await bench.complete(claim), Stored)


async def test_a_file_that_was_replaced_stops_whoever_has_claims_in_the_old_one(
    path: Path, bench: StoreBench
) -> None:
    claim = await bench.claimed("a")
    other = SqliteBench(path.with_name("other.db"))
    await other.start()
    await other.aclose()
    move(path.with_name("other.db"), path)

    for call in (bench.claim("b"), bench.complete(claim), bench.store.lookup("any")):
        with pytest.raises(EffectorError, match=r"another file lies where .*: restart to use it"):
            await call

    assert rows(path, "SELECT * FROM dedup_intents") == []


# --- records of other releases ---


async def test_a_record_of_the_first_release_is_read(path: Path, bench: StoreBench) -> None:
    write(path, INSERT_INTENT, *golden_record(bench.intent_id))

    assert await bench.record() == DedupRecord(
        fingerprint=FINGERPRINT,
        attempt=3,
        token="old-worker",
        lease_until_ms=START_MS + LEASE_MS,
        invoked=(1, 3),
        result=None,
        keep_until_ms=START_MS + RESULT_TTL_MS,
    )
    await bench.let_lease_end()
    assert await bench.claim("b") == Claimed(Claim(bench.intent_id, "b", 4), True)


async def test_a_grant_used_under_the_first_release_is_used(path: Path, bench: StoreBench) -> None:
    write(path, "INSERT INTO dedup_grants VALUES ('g', 1, 'first', ?)", START_MS + HOUR_MS)

    assert await bench.store.redeem("g", "first", keep_until_ms=START_MS + HOUR_MS)
    assert not await bench.store.redeem("g", "second", keep_until_ms=START_MS + HOUR_MS)


async def test_this_release_writes_what_the_first_one_wrote(path: Path, bench: StoreBench) -> None:
    for token in ("a", "b", "old-worker"):
        claim = await bench.claimed(token)
        if token != "b":
            assert await bench.store.mark_invoked(claim)
        if token != "old-worker":
            await bench.let_lease_end()
    await bench.store.redeem("g", "first", keep_until_ms=START_MS + HOUR_MS)

    started_ms = await bench.now_ms()
    record = golden_record(bench.intent_id)
    record[5], record[8] = started_ms + LEASE_MS, started_ms + RESULT_TTL_MS
    assert rows(path, "SELECT * FROM dedup_intents") == [tuple(record)]
    assert rows(path, "SELECT * FROM dedup_grants") == [("g", 1, "first", START_MS + HOUR_MS)]


async def test_a_result_of_the_first_release_is_handed_out(path: Path, bench: StoreBench) -> None:
    write(path, INSERT_INTENT, *golden_record(bench.intent_id, result=RESULT))

    assert await bench.claim("b") == Completed(RESULT)


async def test_a_record_of_a_newer_release_is_never_misread(path: Path, bench: StoreBench) -> None:
    write(path, INSERT_INTENT, *golden_record(bench.intent_id, version=2))
    claim = Claim(bench.intent_id, "old-worker", 3)

    for call in (
        bench.claim("a"),
        bench.store.mark_invoked(claim),
        bench.complete(claim),
        bench.refuse(),
        bench.store.release(claim),
        bench.store.lookup(bench.intent_id),
    ):
        with pytest.raises(UnreadableRecord, match="version 2"):
            await call


async def test_a_grant_of_a_newer_release_is_never_misread(path: Path, bench: StoreBench) -> None:
    write(path, "INSERT INTO dedup_grants VALUES ('g', 2, 'first', ?)", START_MS + HOUR_MS)

    with pytest.raises(UnreadableRecord, match="version 2"):
        await bench.store.redeem("g", "first", keep_until_ms=START_MS + HOUR_MS)


async def test_an_unreadable_record_fails_its_own_call_only(path: Path, bench: StoreBench) -> None:
    write(path, INSERT_INTENT, *golden_record(bench.intent_id, version=2))

    unreadable, fine = await asyncio.gather(
        bench.claim("a"), bench.claim("a", intent_id="another"), return_exceptions=True
    )

    assert isinstance(unreadable, UnreadableRecord)
    assert isinstance(fine, Claimed)


async def test_a_claim_that_a_newer_release_took_over_is_lost_alone(
    path: Path, bench: StoreBench
) -> None:
    taken = await bench.claimed("a")
    held = await bench.claimed("a", intent_id=bench.intent_id + "-held")
    write(path, INSERT_INTENT, *golden_record(bench.intent_id, version=2))

    assert await bench.store.renew([taken, held], lease_ms=LEASE_MS) == [taken]
