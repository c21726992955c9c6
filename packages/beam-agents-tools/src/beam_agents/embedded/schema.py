"""The tables of a bus, and the version that says which they are.

They are prefixed, so that a dedup store or a state file can live in the same
file, each with a version of its own.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from uuid import uuid4

from beam_agents.embedded.errors import BusVersionError

SCHEMA_VERSION = 1

_TABLES = (
    "CREATE TABLE bus_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE bus_topics (
        topic TEXT PRIMARY KEY,
        end_offset INTEGER NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE bus_records (
        topic TEXT NOT NULL,
        offset INTEGER NOT NULL,
        key BLOB,
        value BLOB,
        headers TEXT,
        timestamp_ms INTEGER NOT NULL,
        PRIMARY KEY (topic, offset)
    )""",
    """CREATE TABLE bus_groups (
        group_name TEXT NOT NULL,
        topic TEXT NOT NULL,
        next_offset INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        owner TEXT NOT NULL,
        lease_until_ms INTEGER NOT NULL,
        PRIMARY KEY (group_name, topic)
    ) WITHOUT ROWID""",
)


def ensure_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables where they are missing; call it inside a write transaction.

    Raises:
        BusVersionError: The file has a newer schema.
    """
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'bus_meta'").fetchone()
    if found is None:
        for table in _TABLES:
            connection.execute(table)
        connection.executemany(
            "INSERT INTO bus_meta (name, value) VALUES (?, ?)",
            [("schema_version", str(SCHEMA_VERSION)), ("bus_id", uuid4().hex)],
        )
        return
    version = int(_meta(connection, "schema_version"))
    if version > SCHEMA_VERSION:
        raise BusVersionError(
            f"the bus {str(path)!r} has schema version {version}, and this release of "
            f"beam-agents-tools knows versions up to {SCHEMA_VERSION}: upgrade it"
        )


def bus_id(connection: sqlite3.Connection) -> str:
    """Return the id that the file was given when it was made."""
    return _meta(connection, "bus_id")


def _meta(connection: sqlite3.Connection, name: str) -> str:
    row = connection.execute("SELECT value FROM bus_meta WHERE name = ?", (name,)).fetchone()
    return str(row[0])
