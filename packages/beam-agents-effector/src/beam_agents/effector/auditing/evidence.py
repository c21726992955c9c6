"""What an audit has read, in a temporary sqlite file: topics need not fit in memory."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# One row a record or line. Places say where the evidence is, as `partition@offset`.
_SCHEMA = """
CREATE TABLE intents (
    number INTEGER PRIMARY KEY, place TEXT, id TEXT, fingerprint BLOB, key BLOB,
    approval_request INTEGER, tool TEXT, expires_at_ms INTEGER, may_overlap INTEGER,
    grant_id TEXT, grant_expires_at_ms INTEGER, grant_problem TEXT
);
CREATE TABLE unreadable (place TEXT, reason TEXT);
CREATE TABLE results (
    place TEXT, id TEXT, fingerprint BLOB, key BLOB, status TEXT, outcome TEXT,
    attempt INTEGER, started_at_ms INTEGER, completed_at_ms INTEGER, meaning BLOB, bytes BLOB
);
CREATE TABLE dead_letters (place TEXT, reason TEXT);
CREATE TABLE requests (id TEXT);
CREATE TABLE invocations (
    number INTEGER PRIMARY KEY, place TEXT, id TEXT, attempt INTEGER, at_ms INTEGER, worker TEXT
);
CREATE TABLE faults (worker TEXT, from_ms INTEGER, to_ms INTEGER);
"""
_INDEXES = """
CREATE INDEX intents_by_id ON intents (id, fingerprint);
CREATE INDEX intents_by_key ON intents (key, number);
CREATE INDEX results_by_id ON results (id, fingerprint);
CREATE INDEX dead_letters_by_place ON dead_letters (place);
CREATE INDEX requests_by_id ON requests (id);
CREATE INDEX invocations_by_id ON invocations (id, number);
CREATE INDEX faults_by_worker ON faults (worker);
"""


class Evidence:
    """Rows to be added, and then questions to be asked."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.executescript(_SCHEMA)

    def add(self, table: str, rows: Iterable[Sequence[object]]) -> None:
        """Add rows, each with the columns of the table; a `number` may be None."""
        batch = list(rows)
        if batch:
            marks = ",".join("?" * len(batch[0]))
            self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", batch)  # noqa: S608

    def complete(self) -> None:
        """Make questions fast; nothing is added after."""
        self._connection.executescript(_INDEXES)

    def ask(self, query: str, **values: object) -> Iterator[tuple[object, ...]]:
        """Yield the rows of a query."""
        yield from self._connection.execute(query, values)

    def count(self, table: str) -> int:
        """Count the rows of a table."""
        [(number,)] = self._connection.execute(f"SELECT count(*) FROM {table}")  # noqa: S608
        return int(number)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


@contextmanager
def gathering() -> Iterator[Evidence]:
    """Keep evidence for as long as the audit lasts."""
    with tempfile.TemporaryDirectory(prefix="beam-agents-audit-") as folder:
        evidence = Evidence(Path(folder) / "evidence.db")
        try:
            yield evidence
        finally:
            evidence.close()
