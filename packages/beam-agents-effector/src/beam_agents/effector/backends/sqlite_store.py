"""`sqlite:///file.db`: a dedup store for the processes of one host, durable at every answer."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike, fspath
from typing import TypeAlias, TypeVar, cast

from beam_agents.effector.backends.sqlite_records import SqliteRecords
from beam_agents.effector.backends.transacted_rules import TransactedRules
from beam_agents.effector.backends.turn_batch import TurnBatch
from beam_agents.effector.clock import SystemClock
from beam_agents.effector.dedup import RESULT_TTL_MS, GrantRule, Rule, UnreadableRecord, live
from beam_agents.effector.errors import EffectorError, OperatorError
from beam_agents.effector.ports import Clock, DedupRecord, StoreUnavailable
from beam_agents.embedded.opened_file import OpenedFile, Place

_A = TypeVar("_A")
_NO_DATABASE = "file is not a database"
_Job: TypeAlias = Callable[[SqliteRecords, int], object]


class SqliteStore(TransactedRules):
    """Keeps records in one file, shared by the processes of a host.

    One thread owns the connection. The calls of one turn of the event loop share
    a transaction, and so one write to the disk.

    Args:
        path: The file; made if it is not there.
        result_ttl_ms: How long a record is kept, counted from its last claim or result.
        clock: The store's clock, by default the host's, which its processes share.
        call_timeout_ms: How long a transaction waits for another process to end its own.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        result_ttl_ms: int = RESULT_TTL_MS,
        clock: Clock | None = None,
        call_timeout_ms: int = 5_000,
    ) -> None:
        super().__init__(result_ttl_ms)
        self._path = fspath(path)
        self._clock = clock or SystemClock()
        self._call_timeout_ms = call_timeout_ms
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="dedup-sqlite")
        self._batch: TurnBatch[_Job] = TurnBatch(self._in_thread)
        self._records: SqliteRecords | None = None
        self._file: OpenedFile | None = None

    async def open(self) -> None:
        """Make the file and its tables, or check that they can be used."""
        await self._batch.submit(lambda records, now_ms: None)

    async def aclose(self) -> None:
        """Finish the calls that were made, and close the file."""
        await self._batch.aclose()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown()

    async def now_ms(self) -> int:
        """Read the host's clock."""
        return self._clock.now_ms()

    async def lookup(self, intent_id: str) -> DedupRecord | None:
        """Read a record. Changes nothing."""
        record = await self._batch.submit(
            lambda records, now_ms: live(records.intent(intent_id), now_ms)
        )
        return cast("DedupRecord | None", record)

    async def _judge(
        self, intent_ids: Sequence[str], rules: Sequence[Rule[_A]]
    ) -> list[_A | UnreadableRecord]:
        answers = await self._batch.submit(
            lambda records, now_ms: [
                records.judge(intent_id, rule, now_ms)
                for intent_id, rule in zip(intent_ids, rules, strict=True)
            ]
        )
        return cast("list[_A | UnreadableRecord]", answers)

    async def _judge_grant(self, grant_id: str, rule: GrantRule) -> bool:
        answer = await self._batch.submit(
            lambda records, now_ms: records.judge_grant(grant_id, rule, now_ms)
        )
        return cast("bool", answer)

    async def _in_thread(self, jobs: list[_Job]) -> list[object]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._transact, jobs)

    def _transact(self, jobs: list[_Job]) -> list[object]:
        try:
            records = self._connected()
            with records.transaction():
                # Only now is nobody else judging, so only now may the clock be read.
                now_ms = self._clock.now_ms()
                records.forget_ended(now_ms)
                return [self._answer(job, records, now_ms) for job in jobs]
        except sqlite3.Error as error:
            self._disconnect()  # whatever is wrong with it, the next call begins afresh
            if _NO_DATABASE in str(error):
                raise OperatorError(f"dedup store {self._path!r}: {error}") from error
            raise StoreUnavailable(f"dedup store {self._path!r}: {error}") from error

    def _connected(self) -> SqliteRecords:
        """Return the records at the path: a claim on a file that only we see binds nobody."""
        place = Place.UNCHANGED if self._file is None else self._file.place()
        if place is Place.GONE:
            # Not made anew in passing: with its records gone, tools would run again.
            raise StoreUnavailable(
                f"dedup store {self._path!r}: the file is gone since it was opened: put it back, "
                f"or restart the workers to begin with an empty one"
            )
        if place is Place.REPLACED:
            raise EffectorError(
                f"dedup store {self._path!r}: another file lies where the one was that holds our "
                f"claims: restart to use it; what only the old one knew may run again"
            )
        if self._records is None:
            self._records = SqliteRecords.connect(self._path, self._call_timeout_ms)
            self._file = OpenedFile(self._path)
        return self._records

    @staticmethod
    def _answer(job: _Job, records: SqliteRecords, now_ms: int) -> object:
        try:
            return job(records, now_ms)
        except sqlite3.Error:
            raise
        except Exception as error:  # a record that cannot be read fails its own call only
            return error

    def _disconnect(self) -> None:
        records, self._records = self._records, None
        if records is not None:
            records.close()
