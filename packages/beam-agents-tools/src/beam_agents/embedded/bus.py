"""Topics in one sqlite file, for several processes of one host."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from beam_agents.embedded.consumer import BusConsumer
from beam_agents.embedded.database import Database
from beam_agents.embedded.groups import read_group
from beam_agents.embedded.record import (
    Headers,
    NewRecord,
    Record,
    decode_headers,
    encode_headers,
)
from beam_agents.embedded.schema import bus_id, ensure_schema

DEFAULT_LEASE_MS = 10_000

_WAIT_STEP_S = 0.01
_INSERT = (
    "INSERT INTO bus_records (topic, offset, key, value, headers, timestamp_ms)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)
_SELECT = (
    "SELECT offset, key, value, headers, timestamp_ms FROM bus_records"
    " WHERE topic = ? AND offset >= ? ORDER BY offset LIMIT ?"
)


def unix_ms() -> int:
    """The wall clock, which all processes of a host share."""
    return time.time_ns() // 1_000_000


class EmbeddedBus:
    """A log of topics on disk: what is published is durable, and read in order.

    A topic is one partition, made by its first record. Records are never
    deleted. Calls block, for some milliseconds where they write, and may come
    from any thread. Where the file cannot be used, each raises `BusUnavailable`.

    Args:
        path: The file; made if it is missing, in a folder that is not.
        clock_ms: The wall clock, for timestamps and leases. All who open the file
            must agree on it.

    Raises:
        BusVersionError: The file was made by a newer release.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, clock_ms: Callable[[], int] = unix_ms
    ) -> None:
        self._database = Database(path)
        self._clock_ms = clock_ms
        try:
            with self._database.write() as connection:
                ensure_schema(connection, self.path)
                self._bus_id = bus_id(connection)
        except BaseException:
            self._database.close()
            raise

    def __repr__(self) -> str:
        return f"EmbeddedBus({str(self.path)!r})"

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    @property
    def bus_id(self) -> str:
        """Names this log, wherever the file is moved; a file made anew has another."""
        return self._bus_id

    def publish(
        self, topic: str, *, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> int:
        """Append one record; once this returns, it is durable.

        Returns:
            Its offset.
        """
        return self.publish_all(topic, [NewRecord(key, value, headers)]).start

    def publish_all(self, topic: str, records: Iterable[NewRecord]) -> range:
        """Append all of the records, in order and next to each other, or none.

        Returns:
            Their offsets.
        """
        if not topic:
            raise ValueError("a topic needs a name")
        batch = list(records)
        with self._database.write() as connection:
            start = self._end_offset(topic)
            if not batch:
                return range(start, start)
            now_ms = self._clock_ms()
            connection.executemany(
                _INSERT,
                [
                    (topic, offset, new.key, new.value, encode_headers(new.headers), now_ms)
                    for offset, new in enumerate(batch, start)
                ],
            )
            end = start + len(batch)
            connection.execute(
                "INSERT INTO bus_topics (topic, end_offset) VALUES (?, ?)"
                " ON CONFLICT (topic) DO UPDATE SET end_offset = excluded.end_offset",
                (topic, end),
            )
        return range(start, end)

    def records(self, topic: str, *, start: int = 0, limit: int | None = None) -> list[Record]:
        """Read records from an offset on, without a group. An unknown topic has none."""
        with self._database.read() as connection:
            rows = connection.execute(_SELECT, (topic, start, -1 if limit is None else limit))
            return [
                Record(offset, key, value, decode_headers(headers), timestamp_ms)
                for offset, key, value, headers, timestamp_ms in rows
            ]

    def end_offset(self, topic: str) -> int:
        """Return the offset that the next record of the topic will have."""
        with self._database.read():
            return self._end_offset(topic)

    def topics(self) -> list[str]:
        """Name the topics that have had a record."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT topic FROM bus_topics ORDER BY topic")
            return [name for (name,) in rows]

    def committed(self, group: str, topic: str) -> int:
        """Return the next offset that a restart of the group would read."""
        with self._database.read() as connection:
            return read_group(connection, group, topic).next_offset

    def wait(self, topic: str, start: int, *, timeout_ms: int) -> bool:
        """Wait until the topic has a record at or after `start`.

        Returns:
            False if there was none when the time was up.
        """
        give_up = time.monotonic() + timeout_ms / 1000
        while self.end_offset(topic) <= start:
            left = give_up - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(_WAIT_STEP_S, left))
        return True

    def consumer(self, group: str, topic: str, *, lease_ms: int = DEFAULT_LEASE_MS) -> BusConsumer:
        """Join a group on a topic, as its owner or as a hot standby.

        Args:
            group: Who shares the work: each record is for one consumer of the group.
            topic: What to read, from the group's committed offset on.
            lease_ms: For how long a consumer that says nothing keeps the group.
        """
        return BusConsumer(self, self._database, group, topic, lease_ms, self._clock_ms)

    def close(self) -> None:
        """Close the file. Consumers should be closed before. May be repeated."""
        self._database.close()

    def __enter__(self) -> EmbeddedBus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end_offset(self, topic: str) -> int:
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT end_offset FROM bus_topics WHERE topic = ?", (topic,)
            ).fetchone()
        return 0 if row is None else int(row[0])
