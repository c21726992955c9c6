"""The row that says who owns a consumer group on a topic, and how far the group is."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace

_SELECT = (
    "SELECT next_offset, generation, owner, lease_until_ms FROM bus_groups"
    " WHERE group_name = ? AND topic = ?"
)
_UPSERT = (
    "INSERT INTO bus_groups (group_name, topic, next_offset, generation, owner, lease_until_ms)"
    " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (group_name, topic) DO UPDATE SET"
    " next_offset = excluded.next_offset, generation = excluded.generation,"
    " owner = excluded.owner, lease_until_ms = excluded.lease_until_ms"
)


@dataclass(frozen=True, slots=True)
class Group:
    """The state of a group on one topic.

    Attributes:
        next_offset: Where a new owner begins.
        generation: Counts the changes of owner.
        owner: Names the consumer that owns the topic; empty when nobody does.
        lease_until_ms: When others may take over.
    """

    next_offset: int = 0
    generation: int = 0
    owner: str = ""
    lease_until_ms: int = 0

    def owned_by(self, owner: str, generation: int | None) -> bool:
        """Whether nobody took over since this owner won this generation."""
        return self.owner == owner and self.generation == generation

    def held(self, now_ms: int) -> bool:
        """Whether someone's lease still runs."""
        return self.owner != "" and self.lease_until_ms > now_ms

    def taken_by(self, owner: str, lease_until_ms: int) -> Group:
        """Begin the next generation."""
        return replace(
            self, generation=self.generation + 1, owner=owner, lease_until_ms=lease_until_ms
        )

    def released(self) -> Group:
        """End the lease at once; the generation stays, so the next owner's is higher."""
        return replace(self, owner="", lease_until_ms=0)


def read_group(connection: sqlite3.Connection, name: str, topic: str) -> Group:
    """Read the row; a group that never was is one that nobody owns, at offset 0."""
    row = connection.execute(_SELECT, (name, topic)).fetchone()
    return Group() if row is None else Group(*row)


def write_group(connection: sqlite3.Connection, name: str, topic: str, group: Group) -> None:
    """Write the row; the caller read it in the same write transaction."""
    connection.execute(
        _UPSERT,
        (name, topic, group.next_offset, group.generation, group.owner, group.lease_until_ms),
    )
