"""The file that a live loop continues from: key states, positions and the watermark."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from beam_agents.embedded.database import Database
from beam_agents.io.errors import StateFileError

SCHEMA_VERSION = 1

_TABLES = (
    """CREATE TABLE IF NOT EXISTS loop_meta (
        name TEXT PRIMARY KEY,
        value INTEGER NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS loop_positions (
        log_id TEXT PRIMARY KEY,
        next_offset INTEGER NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS loop_cells (
        namespace TEXT NOT NULL,
        key BLOB NOT NULL,
        cell BLOB NOT NULL,
        PRIMARY KEY (namespace, key)
    )""",
)
_SET_META = "INSERT OR REPLACE INTO loop_meta (name, value) VALUES (?, ?)"


@dataclass(frozen=True)
class Checkpoint:
    """Where a loop stands, apart from the states of its keys.

    Attributes:
        positions: The next offset of every input, by log id.
        watermark_ms: The least of the sources' watermarks; None before there is one.
    """

    positions: Mapping[str, int]
    watermark_ms: int | None = None


class StateFile:
    """Key states and positions that change together, or not at all.

    It is the loop's `KeyStateBackup`: cells that bundles write wait in memory for
    the next checkpoint, since what goes with them may not be on its topics yet.

    Args:
        path: The file; made if it is missing.

    Raises:
        StateFileError: Another loop uses it, or a newer release wrote it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = _lock(self.path)
        self._staged: dict[tuple[str, bytes], bytes] = {}
        self._database = Database(self.path)
        try:
            with self._database.write() as connection:
                _ensure_schema(connection, self.path)
            self._last = self._read_checkpoint()
        except BaseException:
            self.close()
            raise

    def load(self, namespace: str, key: bytes) -> bytes | None:
        """Return a key's cell as of the last checkpoint."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT cell FROM loop_cells WHERE namespace = ? AND key = ?", (namespace, key)
            ).fetchone()
        return None if row is None else bytes(row[0])

    def save(self, namespace: str, cells: Mapping[bytes, bytes]) -> None:
        """Keep cells for the next checkpoint."""
        self._staged.update({(namespace, key): cell for key, cell in cells.items()})

    def keys(self) -> list[tuple[str, bytes]]:
        """Return namespace and key of every cell of the last checkpoint."""
        with self._database.read() as connection:
            return list(connection.execute("SELECT namespace, key FROM loop_cells ORDER BY 1, 2"))

    @property
    def last(self) -> Checkpoint:
        """The last checkpoint."""
        return self._last

    def checkpoint(self, now: Checkpoint) -> bool:
        """Save where the loop stands and what was staged, in one transaction.

        Call it only when all that was read before the positions has been processed,
        and all that came of it is durable. Costs nothing where nothing has changed.

        Returns:
            Whether anything had changed.
        """
        if not self._staged and now.positions == self._last.positions:
            return False
        with self._database.write() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO loop_cells (namespace, key, cell) VALUES (?, ?, ?)",
                [(*owner, cell) for owner, cell in self._staged.items()],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO loop_positions (log_id, next_offset) VALUES (?, ?)",
                list(now.positions.items()),
            )
            if now.watermark_ms is not None:
                connection.execute(_SET_META, ("watermark_ms", now.watermark_ms))
        self._staged.clear()
        self._last = now
        return True

    def close(self) -> None:
        """Close the file and let another loop have it. What is staged is dropped."""
        self._database.close()
        self._lock.close()

    def _read_checkpoint(self) -> Checkpoint:
        with self._database.read() as connection:
            positions = dict(connection.execute("SELECT log_id, next_offset FROM loop_positions"))
            return Checkpoint(positions, _meta(connection, "watermark_ms"))


def _lock(path: Path) -> sqlite3.Connection:
    # An open exclusive transaction on a file beside it: it ends with the process,
    # however that ends, and the state itself stays readable to others.
    beside = path.with_name(path.name + ".lock")
    try:
        connection = sqlite3.connect(
            beside, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except BaseException:
            connection.close()
            raise
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise StateFileError(
                f"another loop is running on the state file {str(path)!r}: stop it first, "
                "or give this one a file of its own"
            ) from None
        raise StateFileError(f"cannot use the state file {str(path)!r}: {error}") from error
    return connection


def _ensure_schema(connection: sqlite3.Connection, path: Path) -> None:
    for table in _TABLES:
        connection.execute(table)
    version = _meta(connection, "schema_version")
    if version is None:
        connection.execute(_SET_META, ("schema_version", SCHEMA_VERSION))
    elif version > SCHEMA_VERSION:
        raise StateFileError(
            f"the state file {str(path)!r} has schema version {version}, and this release of "
            f"beam-agents-core knows versions up to {SCHEMA_VERSION}: upgrade it"
        )


def _meta(connection: sqlite3.Connection, name: str) -> int | None:
    with closing(
        connection.execute("SELECT value FROM loop_meta WHERE name = ?", (name,))
    ) as found:
        row = found.fetchone()
    return None if row is None else int(row[0])
