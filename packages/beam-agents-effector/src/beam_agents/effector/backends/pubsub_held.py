"""The messages that a worker holds: which may be acknowledged, and under which id.

Pub/Sub acknowledges messages one by one, and gives those of an ordering key in order.
Redelivering one, it redelivers all that follow it under the key; so a message is
acknowledged when it and all before it are finished, as an offset would be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable


class HeldMessage:
    """A message that was given to us and not acknowledged."""

    __slots__ = ("ack_id", "finished", "message_id", "offset", "ordering_key")

    def __init__(self, message_id: str, ack_id: str, ordering_key: str, offset: int) -> None:
        self.message_id = message_id
        self.ack_id = ack_id
        self.ordering_key = ordering_key
        self.offset = offset
        self.finished = False


class HeldMessages:
    """All messages that are held, in the order of each key.

    Attributes:
        epoch: Grows when everything that is held is lost.
    """

    def __init__(self) -> None:
        self.epoch = 1
        self._next_offset = 0
        self._by_id: dict[str, HeldMessage] = {}
        self._by_offset: dict[int, HeldMessage] = {}
        self._keys: dict[str, deque[HeldMessage]] = {}
        self._acknowledgeable: dict[str, HeldMessage] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def ack_ids(self) -> list[str]:
        """How to name all of them to Pub/Sub, in order within each key."""
        return [held.ack_id for held in self._by_id.values()]

    def receive(self, message_id: str, ack_id: str, ordering_key: str) -> int | None:
        """Hold a message; return its offset, or None for one that is held already.

        A lease that was extended too late brings a message again: only its name is new.
        """
        held = self._by_id.get(message_id)
        if held is not None:
            held.ack_id = ack_id
            return None
        offset, self._next_offset = self._next_offset, self._next_offset + 1
        held = HeldMessage(message_id, ack_id, ordering_key, offset)
        self._by_id[message_id] = self._by_offset[offset] = held
        if ordering_key:
            self._keys.setdefault(ordering_key, deque()).append(held)
        return offset

    def finish(self, offset: int, epoch: int) -> None:
        """Note that a message is finished; those of an older epoch are nobody's."""
        held = self._by_offset.pop(offset, None) if epoch == self.epoch else None
        if held is None:
            return
        held.finished = True
        if not held.ordering_key:
            self._acknowledgeable[held.message_id] = held
            return
        lane = self._keys[held.ordering_key]
        while lane and lane[0].finished:
            first = lane.popleft()
            self._acknowledgeable[first.message_id] = first
        if not lane:
            del self._keys[held.ordering_key]

    def acknowledgeable(self) -> list[HeldMessage]:
        """Return what is to be acknowledged, in order within each key."""
        return list(self._acknowledgeable.values())

    def acknowledged(self, messages: Iterable[HeldMessage]) -> None:
        """Hold these no longer."""
        for held in messages:
            if self._acknowledgeable.pop(held.message_id, None) is not None:
                del self._by_id[held.message_id]

    def lose(self) -> list[str]:
        """Hold nothing any more, and begin another epoch; return the ack ids that there were."""
        ack_ids = self.ack_ids
        self.epoch += 1
        self._next_offset = 0
        for held in (self._by_id, self._by_offset, self._keys, self._acknowledgeable):
            held.clear()
        return ack_ids
