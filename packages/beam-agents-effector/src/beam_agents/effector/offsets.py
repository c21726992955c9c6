"""Turns records done in any order into offsets that may be committed.

A committed offset says that every record before it is finished, so what may be
committed is the end of the contiguous prefix, never the newest finished record:
otherwise a crash would lose the slow record behind which others overtook.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

_log = logging.getLogger(__name__)


class ContiguousPrefix:
    """The finished prefix of the records handed out from one partition, in order."""

    __slots__ = ("_done", "_outstanding", "next_offset")

    def __init__(self) -> None:
        self._outstanding: deque[int] = deque()
        self._done: set[int] = set()
        self.next_offset: int | None = None
        """Where a restart would go on: None until the first record handed out is finished."""

    @property
    def span(self) -> int:
        """Count the records from the oldest unfinished one to the newest handed out."""
        return len(self._outstanding)

    @property
    def first_unfinished(self) -> int | None:
        """The oldest record that was handed out and is not finished; None without any."""
        return self._outstanding[0] if self._outstanding else None

    def hand_out(self, offset: int) -> None:
        """Note that a record was handed out. Offsets must grow; gaps are allowed."""
        self._outstanding.append(offset)

    def done(self, offset: int) -> bool:
        """Note that a record is finished; True if the prefix grew."""
        outstanding, done = self._outstanding, self._done
        if not done and outstanding and outstanding[0] == offset:  # the usual case, made short
            outstanding.popleft()
            self.next_offset = offset + 1
            return True
        done.add(offset)
        if not outstanding or outstanding[0] not in done:
            return False
        while outstanding and outstanding[0] in done:
            last = outstanding.popleft()
            done.remove(last)
            self.next_offset = last + 1
        return True


@dataclass(frozen=True, slots=True)
class Position:
    """The next offset of a partition, under the assignment for which it was counted."""

    partition: str
    next_offset: int
    epoch: int


class ContiguousOffsets:
    """The contiguous prefixes of all partitions that are assigned to this worker.

    An adapter calls `assign` and `revoke` as its group rebalances, `hand_out` for
    each record that it gives away, `done` as they come back, and then commits the
    `committable` positions and confirms them with `committed`. Each assignment has
    an epoch of its own: what was handed out under an older one moves nothing.
    """

    def __init__(self) -> None:
        self._epoch = 0
        self._assigned: dict[str, tuple[int, ContiguousPrefix]] = {}
        self._grown: set[str] = set()

    @property
    def partitions(self) -> frozenset[str]:
        """The partitions that are assigned now."""
        return frozenset(self._assigned)

    def assign(self, partition: str) -> int:
        """Begin an assignment of a partition and return its epoch; an older one is forgotten."""
        self._epoch += 1
        self._assigned[partition] = self._epoch, ContiguousPrefix()
        self._grown.discard(partition)
        return self._epoch

    def revoke(self, partition: str) -> None:
        """End the assignment: nothing of it can be committed any more."""
        self._assigned.pop(partition, None)
        self._grown.discard(partition)

    def hand_out(self, partition: str, offset: int) -> int:
        """Note that a record is given away; return the epoch to put into its delivery.

        Raises:
            KeyError: The partition is not assigned.
        """
        epoch, prefix = self._assigned[partition]
        prefix.hand_out(offset)
        return epoch

    def first_unfinished(self, partition: str) -> int | None:
        """Return the oldest record that is out and not finished; None if all are, or it is lost."""
        assigned = self._assigned.get(partition)
        return None if assigned is None else assigned[1].first_unfinished

    def done(self, partition: str, offset: int, epoch: int) -> bool:
        """Note that a record is finished; False if its assignment has ended."""
        assigned = self._assigned.get(partition)
        if assigned is None or assigned[0] != epoch:
            _log.info("%s/%d ended after its partition was lost: not committed", partition, offset)
            return False
        if assigned[1].done(offset):
            self._grown.add(partition)
        return True

    def committable(self) -> list[Position]:
        """Return the positions that moved since they were last committed."""
        return [
            Position(partition, prefix.next_offset, epoch)
            for partition in sorted(self._grown)
            for epoch, prefix in [self._assigned[partition]]
            if prefix.next_offset is not None
        ]

    def committed(self, positions: Iterable[Position]) -> None:
        """Confirm that positions are durable. Those of ended assignments are ignored."""
        current = set(self.committable())
        for position in positions:
            if position in current:
                self._grown.discard(position.partition)
