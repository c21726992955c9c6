"""The tables of the sqlite dedup store, and how a record is a row."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from beam_agents.effector.dedup import (
    RECORD_VERSION,
    GrantRecord,
    GrantRule,
    Rule,
    UnreadableRecord,
)
from beam_agents.effector.ports import DedupRecord

_A = TypeVar("_A")

# Prefixed: the file may be the embedded bus's as well.
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS dedup_intents (
        intent_id TEXT PRIMARY KEY,
        version INTEGER NOT NULL,
        fingerprint BLOB NOT NULL,
        attempt INTEGER NOT NULL,
        token TEXT NOT NULL,
        lease_until_ms INTEGER NOT NULL,
        invoked TEXT NOT NULL,  -- attempt numbers, joined by commas
        result BLOB,            -- NULL until there is one; empty is one
        keep_until_ms INTEGER NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS dedup_grants (
        grant_id TEXT PRIMARY KEY,
        version INTEGER NOT NULL,
        intent_id TEXT NOT NULL,
        keep_until_ms INTEGER NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS dedup_intents_end ON dedup_intents (keep_until_ms)",
    "CREATE INDEX IF NOT EXISTS dedup_grants_end ON dedup_grants (keep_until_ms)",
)
_FORGET_EVERY_MS = 60_000


class SqliteRecords:
    """One connection to the records; used by one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._forget_after_ms = 0

    @classmethod
    def connect(cls, path: str, busy_timeout_ms: int) -> SqliteRecords:
        """Open the file, and make what is missing of it."""
        connection = sqlite3.connect(
            path, timeout=busy_timeout_ms / 1000, isolation_level=None, check_same_thread=False
        )
        # FULL: an answer that a power cut could undo would be given twice.
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA journal_mode=WAL")
        records = cls(connection)
        with records.transaction():
            for statement in _SCHEMA:
                connection.execute(statement)
        return records

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock from before the first read, so that nothing is judged twice."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def intent(self, intent_id: str) -> DedupRecord | None:
        """Read the record of an intent as it stands, ended or not."""
        row = self._connection.execute(
            "SELECT version, fingerprint, attempt, token, lease_until_ms, invoked, result,"
            " keep_until_ms FROM dedup_intents WHERE intent_id = ?",
            (intent_id,),
        ).fetchone()
        if row is None:
            return None
        version, fingerprint, attempt, token, lease_until_ms, invoked, result, keep_until_ms = row
        if version > RECORD_VERSION:
            raise UnreadableRecord(intent_id, version)
        return DedupRecord(
            fingerprint,
            attempt,
            token,
            lease_until_ms,
            tuple(int(mark) for mark in invoked.split(",") if mark),
            result,
            keep_until_ms,
        )

    def judge(self, intent_id: str, rule: Rule[_A], now_ms: int) -> _A | UnreadableRecord:
        """Apply a rule to the record of an intent, and keep what it says."""
        try:
            before = self.intent(intent_id)
        except UnreadableRecord as error:
            return error
        record, answer = rule(before, now_ms)
        if record is not None and record is not before:
            self._connection.execute(
                "INSERT OR REPLACE INTO dedup_intents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    intent_id,
                    RECORD_VERSION,
                    record.fingerprint,
                    record.attempt,
                    record.token,
                    record.lease_until_ms,
                    ",".join(map(str, record.invoked)),
                    record.result,
                    record.keep_until_ms,
                ),
            )
        return answer

    def judge_grant(self, grant_id: str, rule: GrantRule, now_ms: int) -> bool:
        """Apply a rule to the record of a grant, and keep what it says."""
        row = self._connection.execute(
            "SELECT version, intent_id, keep_until_ms FROM dedup_grants WHERE grant_id = ?",
            (grant_id,),
        ).fetchone()
        if row is not None and row[0] > RECORD_VERSION:
            raise UnreadableRecord(grant_id, row[0])
        grant, answer = rule(row and GrantRecord(row[1], row[2]), now_ms)
        if grant is not None:
            self._connection.execute(
                "INSERT OR REPLACE INTO dedup_grants VALUES (?, ?, ?, ?)",
                (grant_id, RECORD_VERSION, grant.intent_id, grant.keep_until_ms),
            )
        return answer

    def forget_ended(self, now_ms: int) -> None:
        """Now and then, delete what no reader sees any more."""
        if now_ms < self._forget_after_ms:
            return
        self._forget_after_ms = now_ms + _FORGET_EVERY_MS
        for table in ("dedup_intents", "dedup_grants"):
            self._connection.execute(
                f"DELETE FROM {table} WHERE keep_until_ms <= ?",  # noqa: S608
                (now_ms,),
            )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
