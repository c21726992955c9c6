"""A small payments ledger: one sqlite file, one refund per idempotency key.

It stands for a payment provider that deduplicates as Stripe's `Idempotency-Key`
does, and it is a strict bookkeeper: every call that reaches it is counted, by
which process, whether or not it moved money. So what an effector did twice is
seen, and what it moved twice would be seen as well.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

SCHEMA = """
CREATE TABLE IF NOT EXISTS refunds (
    idempotency_key TEXT PRIMARY KEY,
    charge_id TEXT NOT NULL,
    amount_cents INTEGER NOT NULL,
    invocations INTEGER NOT NULL DEFAULT 0,
    duplicates_refused INTEGER NOT NULL DEFAULT 0,
    refunded_at_ms INTEGER
);
CREATE TABLE IF NOT EXISTS invocations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    idempotency_key TEXT NOT NULL,
    worker_pid INTEGER NOT NULL,
    at_ms INTEGER NOT NULL
);
"""


@dataclass(frozen=True)
class Totals:
    """What the books say.

    Attributes:
        refunds: Idempotency keys whose money has moved.
        invocations: Calls that were received.
        duplicates_refused: Calls that asked for what had been done, and moved nothing.
    """

    refunds: int
    invocations: int
    duplicates_refused: int


class Ledger:
    """The books in one file, safe for several processes of one host."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        with closing(self._connect()) as db:
            db.executescript(SCHEMA)

    def receive(self, idempotency_key: str, charge_id: str, amount_cents: int) -> None:
        """Count a call, before anything else is done about it."""
        now = _now_ms()
        with closing(self._connect()) as db, db:
            db.execute("BEGIN IMMEDIATE")
            db.execute(
                "INSERT INTO refunds (idempotency_key, charge_id, amount_cents) VALUES (?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (idempotency_key, charge_id, amount_cents),
            )
            db.execute(
                "UPDATE refunds SET invocations = invocations + 1 WHERE idempotency_key = ?",
                (idempotency_key,),
            )
            db.execute(
                "INSERT INTO invocations (idempotency_key, worker_pid, at_ms) VALUES (?, ?, ?)",
                (idempotency_key, os.getpid(), now),
            )

    def move_money(self, idempotency_key: str) -> bool:
        """Refund, unless this key was refunded before; say whether money moved."""
        with closing(self._connect()) as db, db:
            moved = db.execute(
                "UPDATE refunds SET refunded_at_ms = ?"
                " WHERE idempotency_key = ? AND refunded_at_ms IS NULL",
                (_now_ms(), idempotency_key),
            )
            if moved.rowcount == 1:
                return True
            db.execute(
                "UPDATE refunds SET duplicates_refused = duplicates_refused + 1"
                " WHERE idempotency_key = ?",
                (idempotency_key,),
            )
            return False

    def totals(self) -> Totals:
        """Sum the books up."""
        with closing(self._connect()) as db:
            row = db.execute(
                "SELECT count(refunded_at_ms), coalesce(sum(invocations), 0),"
                " coalesce(sum(duplicates_refused), 0) FROM refunds"
            ).fetchone()
        return Totals(*row)

    def refunds(self) -> Counter[tuple[str, int]]:
        """How often money moved, by charge and cents."""
        with closing(self._connect()) as db:
            rows = db.execute(
                "SELECT charge_id, amount_cents FROM refunds WHERE refunded_at_ms IS NOT NULL"
            )
            return Counter((str(charge), int(cents)) for charge, cents in rows)

    def last_worker(self) -> int | None:
        """The pid of the process whose call came last."""
        with closing(self._connect()) as db:
            row = db.execute(
                "SELECT worker_pid FROM invocations ORDER BY number DESC LIMIT 1"
            ).fetchone()
        return None if row is None else int(row[0])

    def keys_invoked_by(self, pid: int) -> set[str]:
        with closing(self._connect()) as db:
            rows = db.execute(
                "SELECT DISTINCT idempotency_key FROM invocations WHERE worker_pid = ?", (pid,)
            )
            return {key for (key,) in rows}

    def first_call_after(self, at_ms: int, *, not_by: int) -> int | None:
        """When another process than `not_by` first called after `at_ms`."""
        with closing(self._connect()) as db:
            row = db.execute(
                "SELECT min(at_ms) FROM invocations WHERE at_ms >= ? AND worker_pid != ?",
                (at_ms, not_by),
            ).fetchone()
        return None if row[0] is None else int(row[0])

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=30)
        db.execute("PRAGMA journal_mode = WAL")
        return db


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
