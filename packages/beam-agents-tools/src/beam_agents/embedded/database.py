"""One sqlite file, shared by threads of this process and by other processes of this host."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from beam_agents.embedded.errors import BusError, BusReplaced, BusUnavailable
from beam_agents.embedded.opened_file import OpenedFile, Place

_WAL_ATTEMPTS = 100
_WAL_RETRY_S = 0.02

# A connection must not be used in a forked child, nor be closed there: closing
# could check the log in under the parent's feet. So it is kept, untouched.
_inherited: list[sqlite3.Connection] = []
_open_databases: weakref.WeakSet[Database] = weakref.WeakSet()


class Database:
    """A durable connection: WAL, `synchronous=FULL`, one user at a time.

    Safe to share between threads, and after a fork, where it connects anew. A
    transaction that was committed survives a kill and a power cut; one that was
    not leaves no trace.
    """

    def __init__(self, path: str | os.PathLike[str], *, busy_timeout_ms: int = 10_000) -> None:
        self.path = Path(path)
        self._busy_timeout_ms = busy_timeout_ms
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._file: OpenedFile | None = None
        self._closed = False
        _open_databases.add(self)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a connection for single statements that only read.

        Raises:
            BusUnavailable: The file cannot be read now.
            BusReplaced: Another file lies at the path.
        """
        with self._lock:
            try:
                yield self._connected()
            except sqlite3.OperationalError as error:
                raise BusUnavailable(f"cannot use {str(self.path)!r} now: {error}") from error

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give a connection inside a write transaction: committed at the end, or undone.

        Raises:
            BusUnavailable: Nothing was written.
        """
        with self.read() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file. May be repeated."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def forget_connection(self) -> None:
        """Leave the parent's connection alone; called in a child right after a fork."""
        self._lock = threading.RLock()
        if self._connection is not None:
            _inherited.append(self._connection)
            self._connection = None

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise BusUnavailable(f"{str(self.path)!r} was closed here; open it anew")
        if self._file is not None:
            self._check_place(self._file)
        if self._connection is None:
            self._connection = _connect(self.path, self._busy_timeout_ms)
            self._file = self._file or OpenedFile(self.path)
        return self._connection

    def _check_place(self, file: OpenedFile) -> None:
        place = file.place()
        if place is Place.GONE:
            raise BusUnavailable(
                f"{str(self.path)!r} is gone since it was opened: put it back, "
                f"or restart to begin with an empty one"
            )
        if place is Place.REPLACED:
            raise BusReplaced(
                f"{str(self.path)!r} is another file than the one that was opened: "
                f"restart to use it"
            )


def _connect(path: Path, busy_timeout_ms: int) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=busy_timeout_ms / 1000, isolation_level=None, check_same_thread=False
    )
    try:
        _switch_to_wal(connection)
        connection.execute("PRAGMA synchronous=FULL")
    except BaseException as error:
        connection.close()
        if type(error) is sqlite3.DatabaseError:
            raise BusError(f"{str(path)!r} is not a bus: {error}") from error
        raise
    return connection


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    # The switch takes an exclusive lock for which sqlite does not wait, so two
    # processes that create the file at once get in each other's way here only.
    for _ in range(_WAL_ATTEMPTS):
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode=WAL")
            return
        time.sleep(_WAL_RETRY_S)
    connection.execute("PRAGMA journal_mode=WAL")


def _forget_all() -> None:
    for database in list(_open_databases):
        database.forget_connection()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
