"""A consumer of a group: owner by a lease, or hot standby; commits fenced by generation."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from beam_agents.embedded.database import Database
from beam_agents.embedded.errors import ConsumerFenced
from beam_agents.embedded.groups import read_group, write_group
from beam_agents.embedded.record import Record

if TYPE_CHECKING:
    from beam_agents.embedded.bus import EmbeddedBus

_WAIT_STEP_S = 0.01


class BusConsumer:
    """One member of a consumer group on one topic; made by `EmbeddedBus.consumer`.

    Of a group one consumer at a time owns the topic, by a lease that `poll`,
    `heartbeat` and `commit` extend. The others stand by: their `poll` gives
    nothing until the owner closes, or says nothing for its lease, and then
    starts at the committed offset. Every takeover is a new generation, and a
    commit of an older one is refused, so an owner that was only slow cannot
    undo the progress of its successor.

    May be used from several threads. After a fork the child is another consumer.
    """

    def __init__(
        self,
        bus: EmbeddedBus,
        database: Database,
        group: str,
        topic: str,
        lease_ms: int,
        clock_ms: Callable[[], int],
    ) -> None:
        if not group:
            raise ValueError("a consumer group needs a name")
        if lease_ms <= 0:
            raise ValueError(f"lease_ms must be positive, not {lease_ms}")
        self._bus = bus
        self._database = database
        self._group = group
        self._topic = topic
        self._lease_ms = lease_ms
        self._clock_ms = clock_ms
        self._name = uuid4().hex
        self._generation: int | None = None
        self._position = 0
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"BusConsumer(group={self._group!r}, topic={self._topic!r})"

    @property
    def generation(self) -> int | None:
        """The generation in which we own the group, or None while we stand by.

        It changes when the group was lost and won again: what was read under
        another generation will be read again, here or elsewhere.
        """
        return self._generation

    def poll(self, limit: int = 100, *, timeout_ms: int = 0) -> list[Record]:
        """Read on where the last poll ended; empty while we stand by.

        Args:
            limit: At most so many records.
            timeout_ms: For how long to wait for a first record.
        """
        give_up = time.monotonic() + timeout_ms / 1000
        while True:
            records = self._poll_once(limit)
            left = give_up - time.monotonic()
            if records or left <= 0:
                return records
            time.sleep(min(_WAIT_STEP_S, left))

    def heartbeat(self) -> bool:
        """Keep the group without reading on; for an owner that has enough to do.

        Returns:
            Whether we own the group.
        """
        with self._lock:
            self._hold_or_stand_by()
            return self._generation is not None

    def commit(self, next_offset: int) -> None:
        """Record durably that all records before `next_offset` are done. Never goes back.

        Raises:
            ConsumerFenced: The group is not ours any more, and was not touched.
        """
        with self._lock, self._database.write() as connection:
            group = read_group(connection, self._group, self._topic)
            if not group.owned_by(self._owner(), self._generation):
                self._generation = None
                raise ConsumerFenced(
                    f"another consumer of group {self._group!r} took over topic "
                    f"{self._topic!r}; what was not committed is now its work"
                )
            committed = replace(
                group,
                next_offset=max(group.next_offset, next_offset),
                lease_until_ms=self._clock_ms() + self._lease_ms,
            )
            write_group(connection, self._group, self._topic, committed)

    def close(self) -> None:
        """Hand the group over at once, if it is ours. May be repeated; poll would join again."""
        with self._lock:
            if self._generation is None:
                return
            with self._database.write() as connection:
                group = read_group(connection, self._group, self._topic)
                if group.owned_by(self._owner(), self._generation):
                    write_group(connection, self._group, self._topic, group.released())
            self._generation = None

    def __enter__(self) -> BusConsumer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _poll_once(self, limit: int) -> list[Record]:
        with self._lock:
            self._hold_or_stand_by()
            if self._generation is None:
                return []
            records = self._bus.records(self._topic, start=self._position, limit=limit)
            if records:
                self._position = records[-1].offset + 1
            return records

    def _hold_or_stand_by(self) -> None:
        # Reading first: an owner writes once in a third of its lease, a standby
        # when the lease it waits for is over. Waiting costs the disk nothing.
        now_ms = self._clock_ms()
        with self._database.read() as connection:
            group = read_group(connection, self._group, self._topic)
        if group.owned_by(self._owner(), self._generation):
            if group.lease_until_ms - now_ms <= self._lease_ms * 2 // 3:
                self._acquire(now_ms)
        elif group.held(now_ms):
            self._generation = None
        else:
            self._acquire(now_ms)

    def _acquire(self, now_ms: int) -> None:
        until_ms = now_ms + self._lease_ms
        with self._database.write() as connection:
            group = read_group(connection, self._group, self._topic)
            if group.owned_by(self._owner(), self._generation):
                group = replace(group, lease_until_ms=until_ms)
            elif group.held(now_ms):
                self._generation = None
                return
            else:
                group = group.taken_by(self._owner(), until_ms)
                self._position = group.next_offset
            write_group(connection, self._group, self._topic, group)
        self._generation = group.generation

    def _owner(self) -> str:
        # With the process id, so that a forked child cannot pass for its parent.
        return f"{os.getpid()}-{self._name}"
