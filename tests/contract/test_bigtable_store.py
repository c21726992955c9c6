"""`bigtable://` under the store contract, and what only workers with own clocks can get wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from hypothesis import given, settings

from beam_agents.effector.backends.bigtable_store import BigtableStore
from beam_agents.effector.backends.bigtable_table import BigtableTable, TableName
from beam_agents.effector.dedup import UnreadableRecord
from beam_agents.effector.errors import OperatorError
from beam_agents.effector.ports import (
    Busy,
    Claim,
    Claimed,
    Completed,
    DedupRecord,
    DedupStore,
    StoreUnavailable,
)
from beam_agents.effector.testing.hand_clock import HandClock
from beam_agents.effector.testing.store_bench import (
    FINGERPRINT,
    HOUR_MS,
    LEASE_MS,
    RESULT,
    RESULT_TTL_MS,
    StoreBench,
)
from beam_agents.effector.testing.store_contract import DedupStoreContract
from tests.bigtable_tables import INSTANCE, PROJECT, Tables
from tests.contract.store_benches import MemoryBench
from tests.contract.store_differential import Step, agree, step_sequences
from tests.fault_proxy import Fault, FaultProxy

START_MS = 1_700_000_000_000
SKEW_MS = 5_000
DAY_US = 24 * HOUR_MS * 1_000

# A record and a grant as release 0.1.0 wrote them: every later release must read them.
GOLDEN_RECORD = (
    f'{{"v": 1, "stamp": "0c3f6d1b2a7e4f589a0b1c2d3e4f5a6b", "fingerprint": "{FINGERPRINT.hex()}",'
    f' "attempt": 3, "token": "old-worker", "lease_until_ms": {START_MS + LEASE_MS},'
    f' "invoked": [1, 3], "keep_until_ms": {START_MS + RESULT_TTL_MS}}}'
).encode()
GOLDEN_GRANT = (
    '{"v": 1, "stamp": "0c3f6d1b2a7e4f589a0b1c2d3e4f5a6b", "intent_id": "first",'
    f' "keep_until_ms": {START_MS + HOUR_MS}}}'
).encode()
NEWER_RECORD = b'{"v": 2, "layout": "another"}'


class BigtableBench(StoreBench):
    """Moves time by the clock of its workers; touches its own rows only."""

    def __init__(self, tables: Tables, table: TableName, *, skew_ms: int = SKEW_MS) -> None:
        self.margin_ms = skew_ms
        self._tables = tables
        self._table = table
        self.clock = HandClock(START_MS)
        self.prefix = f"test-{uuid4()}:"
        self._clients = [self.client()]
        super().__init__(self._clients[0])

    def client(self, clock: HandClock | None = None) -> BigtableStore:
        return BigtableStore(
            self._table,
            result_ttl_ms=RESULT_TTL_MS,
            max_clock_skew_ms=self.margin_ms,
            clock=clock or self.clock,
            key_prefix=self.prefix,
        )

    async def advance(self, ms: int) -> None:
        self.clock.advance(ms)

    async def another_client(self, clock: HandClock | None = None) -> DedupStore:
        client = self.client(clock)
        await client.open()
        self._clients.append(client)
        return client

    async def lose_records(self) -> None:
        self._tables.drop_rows(self._table, self.prefix)

    async def now_ms(self) -> int:
        return self.clock.now_ms()

    async def write(self, key: str, record: bytes, result: bytes | None = None) -> None:
        """Write a record as another release might have."""
        table = BigtableTable(self._table, 5_000)
        await table.open()
        cells = {"record": record} if result is None else {"record": record, "result": result}
        row = (self.prefix + key).encode()
        before = await table.read(row)
        stamp = before["record"] if before else None
        assert await table.swap(row, stamp, cells, timestamp_ms=START_MS)
        await table.aclose()

    async def aclose(self) -> None:
        await self.lose_records()
        for client in self._clients:
            await client.aclose()


@pytest.fixture(scope="module")
def tables(bigtable_emulator: str) -> Tables:
    return Tables(bigtable_emulator)


@pytest.fixture(scope="module")
def table(tables: Tables) -> TableName:
    return tables.create(f"contract-{uuid4().hex}")


@pytest.fixture(autouse=True)
def on_the_emulator(bigtable_emulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGTABLE_EMULATOR_HOST", bigtable_emulator)


@pytest.fixture
async def bench(tables: Tables, table: TableName) -> AsyncIterator[BigtableBench]:
    bench = BigtableBench(tables, table)
    await bench.start()
    yield bench
    await bench.aclose()


class TestBigtableStore(DedupStoreContract):
    """The whole contract, with clocks that may be 5 s apart."""


@settings(max_examples=75)
@given(steps=step_sequences)
def test_it_answers_as_the_reference_does(
    tables: Tables, table: TableName, steps: list[Step]
) -> None:
    async def compare() -> None:
        subject = BigtableBench(tables, table, skew_ms=0)
        try:
            await agree(MemoryBench(), subject, steps)
        finally:
            await subject.aclose()

    asyncio.run(compare())


# --- workers' clocks ---


async def test_a_worker_whose_clock_is_ahead_leaves_a_lease_alone(bench: BigtableBench) -> None:
    ahead = HandClock(START_MS + SKEW_MS)
    await bench.claimed("a")
    bench.store = await bench.another_client(ahead)
    ahead.advance(LEASE_MS - 1)

    assert await bench.claim("b") == Busy(1)

    ahead.advance(1)
    assert isinstance(await bench.claim("b"), Claimed)


async def test_a_worker_whose_clock_is_ahead_still_sees_a_record(bench: BigtableBench) -> None:
    ahead = HandClock(START_MS + SKEW_MS)
    await bench.complete(await bench.claimed("a"))
    bench.store = await bench.another_client(ahead)

    ahead.advance(RESULT_TTL_MS - 1)

    assert await bench.claim("b") == Completed(RESULT)


# --- what is in a row ---


async def test_cells_are_dated_a_day_before_their_records_end(
    bench: BigtableBench, table: TableName
) -> None:
    await bench.complete(await bench.claimed("a"))
    await bench.store.redeem("g", "first", keep_until_ms=START_MS + 48 * HOUR_MS)

    dates = await _cell_dates(table, bench.prefix)

    # Garbage collection takes cells of more than 25 hours: an hour after the record's end.
    assert dates == {
        f"intent#{bench.intent_id}": {START_MS * 1_000},
        "grant#g": {START_MS * 1_000 + DAY_US},
    }


async def test_a_key_that_is_too_long_for_bigtable_is_shortened(bench: BigtableBench) -> None:
    for intent_id in ("x" * 10_000, "x" * 10_001):
        assert (await bench.claimed("a", intent_id=intent_id)).attempt == 1
        assert isinstance(await bench.claim("b", intent_id=intent_id), Busy)


# --- round trips ---


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Name every call that travels to Bigtable."""
    made: list[str] = []
    for name in ("read", "swap"):
        original = getattr(BigtableTable, name)

        def counted(*args: object, _name: str = name, _call: object = original, **more: object):  # type: ignore[no-untyped-def]
            made.append(_name)
            return _call(*args, **more)  # type: ignore[operator]

        monkeypatch.setattr(BigtableTable, name, counted)
    return made


async def test_a_fresh_intent_takes_two_round_trips(bench: BigtableBench, trips: list[str]) -> None:
    await bench.complete(await bench.claimed("a"))

    assert trips == ["swap", "swap"]


async def test_a_duplicate_takes_two_round_trips_and_a_third_to_keep_its_record_longer(
    bench: BigtableBench, trips: list[str]
) -> None:
    await bench.complete(await bench.claimed("a"))
    trips.clear()

    await bench.claim("b")
    assert trips == ["swap", "read"]

    await bench.advance(1)
    await bench.claim("c")
    assert trips == ["swap", "read", "swap", "read", "swap"]


# --- records of other releases ---


async def test_a_record_of_the_first_release_is_read(bench: BigtableBench) -> None:
    await bench.write(f"intent#{bench.intent_id}", GOLDEN_RECORD)

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


async def test_this_release_writes_records_as_the_first_did(bench: BigtableBench) -> None:
    await bench.claimed("a")
    table = BigtableTable(bench._table, 5_000)
    await table.open()

    cells = await table.read(f"{bench.prefix}intent#{bench.intent_id}".encode())

    assert cells is not None
    assert json.loads(cells["record"]).keys() == json.loads(GOLDEN_RECORD).keys()
    await table.aclose()


async def test_a_result_of_the_first_release_is_handed_out(bench: BigtableBench) -> None:
    await bench.write(f"intent#{bench.intent_id}", GOLDEN_RECORD, RESULT)

    assert await bench.claim("b") == Completed(RESULT)


async def test_a_grant_used_under_the_first_release_is_used(bench: BigtableBench) -> None:
    await bench.write("grant#g", GOLDEN_GRANT)
    keep_until_ms = START_MS + HOUR_MS

    assert await bench.store.redeem("g", "first", keep_until_ms=keep_until_ms)
    assert not await bench.store.redeem("g", "second", keep_until_ms=keep_until_ms)


async def test_a_record_of_a_newer_release_is_never_misread(bench: BigtableBench) -> None:
    await bench.write(f"intent#{bench.intent_id}", NEWER_RECORD)
    claim = Claim(bench.intent_id, "a", 1)

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


async def test_a_grant_of_a_newer_release_is_never_misread(bench: BigtableBench) -> None:
    await bench.write("grant#g", NEWER_RECORD)

    with pytest.raises(UnreadableRecord, match="version 2"):
        await bench.store.redeem("g", "first", keep_until_ms=START_MS + HOUR_MS)


async def test_a_claim_that_a_newer_release_took_over_is_lost_alone(bench: BigtableBench) -> None:
    taken = await bench.claimed("a")
    held = await bench.claimed("a", intent_id=bench.intent_id + "-held")
    await bench.write(f"intent#{bench.intent_id}", NEWER_RECORD)

    assert await bench.store.renew([taken, held], lease_ms=LEASE_MS) == [taken]


# --- a table that cannot be used ---


async def test_a_missing_table_is_named_at_once() -> None:
    store = BigtableStore(TableName(PROJECT, INSTANCE, "no-such-table"))

    with pytest.raises(OperatorError, match=r"'beam-agents/dedup/no-such-table' does not exist"):
        await store.open()


async def test_a_missing_family_is_named_with_how_to_make_it(tables: Tables) -> None:
    table = tables.create(f"contract-{uuid4().hex}", family="other")

    with pytest.raises(OperatorError, match=r"no column family 'd': .*cbt createfamily"):
        await BigtableStore(table).open()


async def test_an_unreachable_server_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGTABLE_EMULATOR_HOST", "127.0.0.1:1")
    store = BigtableStore(TableName(PROJECT, INSTANCE, "table"), call_timeout_ms=1_000)

    with pytest.raises(StoreUnavailable, match="dedup store bigtable://beam-agents/dedup/table: "):
        await store.open()


async def test_a_closed_store_is_unavailable(bench: BigtableBench) -> None:
    store = bench.client()
    await store.open()
    await store.aclose()

    with pytest.raises(StoreUnavailable):
        await store.lookup("i")


async def test_a_connection_that_stays_silent_is_given_up(
    table: TableName, bigtable_emulator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, _, port = bigtable_emulator.partition(":")
    async with FaultProxy(host, int(port)) as proxy:
        monkeypatch.setenv("BIGTABLE_EMULATOR_HOST", f"127.0.0.1:{proxy.port}")
        silent = BigtableTable(table, 200)
        await silent.open()
        first = silent._client
        proxy.fault = Fault.BLACKHOLE
        while silent._client is first:
            with pytest.raises(StoreUnavailable):
                await silent.read(b"key")
        proxy.fault = Fault.NONE
        proxy.reset()  # what the new one sent so far is lost

        while True:
            try:
                assert await silent.read(b"key") is None
                break
            except StoreUnavailable:
                await asyncio.sleep(0.05)
        await silent.aclose()


async def _cell_dates(name: TableName, prefix: str) -> dict[str, set[int]]:
    table = BigtableTable(name, 5_000)
    await table.open()
    rows = await table._opened().read_rows({"rows": {"row_ranges": []}})
    dates = {
        row.row_key.decode().removeprefix(prefix): {cell.timestamp_micros for cell in row}
        for row in rows
        if row.row_key.startswith(prefix.encode())
    }
    await table.aclose()
    return dates
