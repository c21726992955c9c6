"""The embedded bus keeps the contracts of `Source`, `Sink` and `Browser`, through its adapters."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from beam_agents.effector.backends.sqlite_browser import SqliteBrowser
from beam_agents.effector.backends.sqlite_sink import SqliteSink
from beam_agents.effector.backends.sqlite_source import SqliteSource
from beam_agents.effector.errors import BackendUnavailable, EffectorError, TopicMissing
from beam_agents.effector.ports import SinkUnavailable
from beam_agents.effector.testing.log_bench import values
from beam_agents.effector.testing.log_contract import (
    BrowserContract,
    LogBench,
    LoggedRecord,
    Member,
    SinkContract,
    SourceContract,
)
from beam_agents.embedded import BusUnavailable, EmbeddedBus, NewRecord

_GROUP = "effector"
_LEASE_MS = 2_000
_HOUR_MS = 3_600_000


class SqliteLogBench(LogBench):
    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._bus = EmbeddedBus(path)

    def source(self) -> SqliteSource:
        return SqliteSource(self.path, "intents", group=_GROUP, lease_ms=_LEASE_MS)

    def sink(self) -> SqliteSink:
        return SqliteSink(self.path, "intents")

    async def append(self, *records: LoggedRecord) -> None:
        self._bus.publish_all(
            "intents", [NewRecord(each.key, each.value, each.headers) for each in records]
        )

    async def records(self) -> list[LoggedRecord]:
        return [
            LoggedRecord(record.key, record.value, record.headers)
            for record in self._bus.records("intents")
        ]

    async def take_away(self, member: Member) -> None:
        # Another process whose clock says that the lease is over.
        ahead = EmbeddedBus(self.path, clock_ms=lambda: time.time_ns() // 1_000_000 + _HOUR_MS)
        with ahead, ahead.consumer(_GROUP, "intents") as thief:
            assert thief.heartbeat()
            await member.told.wait()

    def close(self) -> None:
        self._bus.close()


@pytest.fixture
def log_bench(tmp_path: Path) -> Iterator[SqliteLogBench]:
    bench = SqliteLogBench(tmp_path / "bus.db")
    yield bench
    bench.close()


class TestSqliteSource(SourceContract):
    pass


class TestSqliteSink(SinkContract):
    pass


class TestSqliteBrowser(BrowserContract):
    def browser(self, log_bench: LogBench) -> SqliteBrowser:
        assert isinstance(log_bench, SqliteLogBench)
        return SqliteBrowser(log_bench.path, "intents")


async def test_looking_through_makes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "typo.db"

    with pytest.raises(TopicMissing, match="there is no bus"):
        await SqliteBrowser(str(path), "intents").open()

    assert not path.exists()


async def test_a_standby_takes_over_when_the_owner_closes(log_bench: SqliteLogBench) -> None:
    owner = await Member.join(log_bench.source())
    await log_bench.append(LoggedRecord(b"k", b"0"))
    await owner.finish(await owner.fetch(1))
    standby = await Member.join(log_bench.source())
    await log_bench.append(LoggedRecord(b"k", b"1"))

    await owner.source.aclose()

    [delivery] = await standby.fetch(1)
    assert delivery.value == b"1"
    await standby.source.aclose()


async def test_a_file_in_a_missing_folder_is_named(tmp_path: Path) -> None:
    sink = SqliteSink(str(tmp_path / "missing" / "bus.db"), "results")

    with pytest.raises(BackendUnavailable, match=r"missing/bus\.db"):
        await sink.open()
    await sink.aclose()


async def test_a_file_that_is_gone_is_waited_for(log_bench: SqliteLogBench) -> None:
    member = await Member.join(log_bench.source())
    sink = log_bench.sink()
    await sink.open()
    os.rename(log_bench.path, log_bench.path + "-elsewhere")
    with pytest.raises(SinkUnavailable, match="is gone since it was opened"):
        await sink.publish(key=b"k", value=b"0")
    with pytest.raises(BusUnavailable, match="is gone since it was opened"):
        await member.source.check()

    os.rename(log_bench.path + "-elsewhere", log_bench.path)

    await sink.publish(key=b"k", value=b"1")
    assert values(await member.fetch(1)) == [1]
    await member.source.aclose()
    await sink.aclose()


async def test_a_file_that_was_replaced_stops_whoever_uses_it(log_bench: SqliteLogBench) -> None:
    member = await Member.join(log_bench.source())
    sink = log_bench.sink()
    await sink.open()
    EmbeddedBus(log_bench.path + "-other").close()
    os.rename(log_bench.path + "-other", log_bench.path)

    with pytest.raises(EffectorError, match="restart to use it"):
        await sink.publish(key=b"k", value=b"0")
    with pytest.raises(EffectorError, match="restart to use it"):
        await member.fetch(1)

    await member.source.aclose()
    await sink.aclose()
