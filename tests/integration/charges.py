"""The tool that the integration test's effectors run, and the strict ledger behind it.

The ledger knows every call that it received, and charges once per intent id. A call
can be held inside the tool until its gate is opened, so that a test knows that the
process that it kills is in the middle of it.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from beam_agents.tools import IntentInfo, ToolRegistry, tool

LEDGER_VARIABLE = "CHARGES_LEDGER"

SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    intent_id TEXT, entity_key BLOB, seq INTEGER, attempt INTEGER, pid INTEGER
);
CREATE TABLE IF NOT EXISTS charges (intent_id TEXT PRIMARY KEY, amount INTEGER);
CREATE TABLE IF NOT EXISTS gates (intent_id TEXT PRIMARY KEY);
"""


@dataclass(frozen=True)
class Call:
    """One invocation that reached the ledger; numbers grow in the order of arrival."""

    number: int
    intent_id: str
    entity_key: bytes
    seq: int
    attempt: int
    pid: int


class Ledger:
    """One sqlite file, shared by the test and the effectors."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with self._transaction() as db:
            db.executescript(SCHEMA)

    def receive(self, intent: IntentInfo) -> None:
        call = (intent.intent_id, intent.entity_key, intent.seq, intent.attempt, os.getpid())
        with self._transaction() as db:
            db.execute(
                "INSERT INTO calls (intent_id, entity_key, seq, attempt, pid)"
                " VALUES (?, ?, ?, ?, ?)",
                call,
            )

    def charge(self, intent_id: str, amount: int) -> None:
        with self._transaction() as db:
            db.execute(
                "INSERT INTO charges VALUES (?, ?) ON CONFLICT DO NOTHING", (intent_id, amount)
            )

    def open_gate(self, intent_id: str) -> None:
        with self._transaction() as db:
            db.execute("INSERT INTO gates VALUES (?)", (intent_id,))

    def gate_is_open(self, intent_id: str) -> bool:
        with self._transaction() as db:
            return bool(
                db.execute("SELECT 1 FROM gates WHERE intent_id = ?", (intent_id,)).fetchone()
            )

    def calls(self) -> list[Call]:
        with self._transaction() as db:
            return [Call(*row) for row in db.execute("SELECT * FROM calls ORDER BY number")]

    def calls_of(self, intent_id: str) -> list[Call]:
        return [call for call in self.calls() if call.intent_id == intent_id]

    def charges(self) -> dict[str, int]:
        with self._transaction() as db:
            return dict(db.execute("SELECT intent_id, amount FROM charges").fetchall())

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(self.path, timeout=30)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            with db:
                yield db
        finally:
            db.close()


@tool(name="payments.charge", side_effect=True)
def charge(amount: int, held: bool, *, intent: IntentInfo) -> dict[str, int]:
    """Charge an amount, once per intent id.

    Args:
        amount: In cents.
        held: Stay in here until the gate of this intent is open.
    """
    ledger = Ledger(os.environ[LEDGER_VARIABLE])
    ledger.receive(intent)
    while held and not ledger.gate_is_open(intent.intent_id):
        time.sleep(0.02)
    ledger.charge(intent.intent_id, amount)
    return {"charged": amount}


TOOLS = ToolRegistry(charge)
