"""The reference log: topics of this process, with partitions and consumer groups."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from beam_agents.effector.clock import SystemClock
from beam_agents.effector.offsets import ContiguousOffsets
from beam_agents.effector.ports import Clock, Delivery, Headers
from beam_agents.embedded import Record

_BATCH = 500


@dataclass(slots=True)
class _Group:
    """The members of a consumer group in the order in which they joined, and its offsets."""

    members: list[MemorySource] = field(default_factory=list)
    committed: dict[int, int] = field(default_factory=dict)


class MemoryTopic:
    """Partitions of records that live as long as this object.

    Args:
        name: Names the partitions: `name/0`, `name/1`, …
        partitions: How many there are.
        clock: Stamps the records.
    """

    def __init__(self, name: str, *, partitions: int = 1, clock: Clock | None = None) -> None:
        self.name = name
        self.partitions: list[list[Record]] = [[] for _ in range(partitions)]
        self._clock = clock or SystemClock()
        self._groups: dict[str, _Group] = {}

    def append(
        self,
        *,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> int:
        """Add a record and return its offset; the key picks the partition if none is given."""
        if partition is None:
            partition = crc32(key or b"") % len(self.partitions)
        records = self.partitions[partition]
        records.append(Record(len(records), key, value, headers, self._clock.now_ms()))
        for group in self._groups.values():
            for member in group.members:
                member.wake()
        return len(records) - 1

    def source(self, group: str = "beam-agents-effector") -> MemorySource:
        """Make a member of a consumer group; it joins when it is opened."""
        return MemorySource(self, group)

    def sink(self) -> MemorySink:
        """Make a sink for this topic."""
        return MemorySink(self)

    def committed(self, partition: int, group: str = "beam-agents-effector") -> int:
        """Return the next offset that a new owner of the partition would read."""
        return self._group(group).committed.get(partition, 0)

    def commit(self, partition: int, next_offset: int, group: str) -> None:
        """Make an offset of a group durable."""
        self._group(group).committed[partition] = next_offset

    def join(self, member: MemorySource, group: str) -> None:
        """Add a member, and share the partitions out anew."""
        self._group(group).members.append(member)
        self._rebalance(group)

    def leave(self, member: MemorySource, group: str) -> None:
        """Remove a member, and share its partitions out."""
        members = self._group(group).members
        if member in members:
            members.remove(member)
            self._rebalance(group)

    def _group(self, name: str) -> _Group:
        return self._groups.setdefault(name, _Group())

    def _rebalance(self, name: str) -> None:
        members = self._group(name).members
        shares = [set(range(len(self.partitions))[i :: len(members)]) for i in range(len(members))]
        for member, share in zip(members, shares, strict=True):
            member.give_up(member.assigned - share)
        for member, share in zip(members, shares, strict=True):
            member.take(share - member.assigned)


class MemorySource:
    """One member of a consumer group; see `Source`."""

    def __init__(self, topic: MemoryTopic, group: str) -> None:
        self._topic = topic
        self._group = group
        self._offsets = ContiguousOffsets()
        self._positions: dict[int, int] = {}
        self._paused: set[int] = set()
        self._awake = asyncio.Event()
        self._on_lost: Callable[[Collection[str]], None] = lambda _: None

    @property
    def assigned(self) -> set[int]:
        """The partitions that this member reads now."""
        return set(self._positions)

    def position(self, partition: int) -> int:
        """Return the offset of a partition of ours that is handed out next."""
        return self._positions[partition]

    async def open(self, on_lost: Callable[[Collection[str]], None]) -> None:
        """Join the group."""
        self._on_lost = on_lost
        self._topic.join(self, self._group)

    async def fetch(self) -> Sequence[Delivery]:
        """Wait for records; partitions take turns at being read first."""
        while True:
            self._awake.clear()
            fetched = self._next_batch()
            if fetched:
                return fetched
            await self._awake.wait()

    def done(self, delivery: Delivery) -> None:
        """Take a delivery back as finished."""
        self._offsets.done(delivery.partition, delivery.offset, delivery.epoch)

    def pause(self, partition: str) -> None:
        """Hand out no more of this partition."""
        self._paused.add(_index(partition))

    def resume(self, partition: str) -> None:
        """Hand it out again."""
        self._paused.discard(_index(partition))
        self.wake()

    async def commit(self) -> None:
        """Commit the contiguous prefix of every partition that is still ours."""
        positions = self._offsets.committable()
        for position in positions:
            self._topic.commit(_index(position.partition), position.next_offset, self._group)
        self._offsets.committed(positions)

    async def lag(self) -> Mapping[str, int]:
        """Count the records from the first unfinished one on."""
        lag: dict[str, int] = {}
        for partition, position in self._positions.items():
            name = self._name(partition)
            first = self._offsets.first_unfinished(name)
            end = len(self._topic.partitions[partition])
            lag[name] = end - (position if first is None else first)
        return lag

    async def check(self) -> None:
        """Nothing can keep memory from being read."""

    async def aclose(self) -> None:
        """Commit once more, and leave the group."""
        await self.commit()
        self.vanish()

    def vanish(self) -> None:
        """Leave the group without a word, as a killed process does."""
        self._on_lost = lambda _: None
        self._topic.leave(self, self._group)
        self.give_up(self.assigned)

    def wake(self) -> None:
        """Look for records again."""
        self._awake.set()

    def take(self, partitions: Collection[int]) -> None:
        """Begin to read partitions where the group has committed to."""
        for partition in sorted(partitions):
            self._offsets.assign(self._name(partition))
            self._positions[partition] = self._topic.committed(partition, self._group)
        self.wake()

    def give_up(self, partitions: Collection[int]) -> None:
        """Lose partitions to other members."""
        for partition in partitions:
            self._offsets.revoke(self._name(partition))
            del self._positions[partition]
            self._paused.discard(partition)
        if partitions:
            self._on_lost([self._name(partition) for partition in partitions])

    def _next_batch(self) -> list[Delivery]:
        readable = [partition for partition in self._positions if partition not in self._paused]
        fetched: list[Delivery] = []
        for partition in readable:
            position = self._positions.pop(partition)
            records = self._topic.partitions[partition][position : position + _BATCH]
            self._positions[partition] = position + len(records)  # now the last in turn
            fetched += self._hand_out(self._name(partition), records)
            if len(fetched) >= _BATCH:
                break
        return fetched

    def _hand_out(self, name: str, records: Sequence[Record]) -> Iterator[Delivery]:
        for each in records:
            epoch = self._offsets.hand_out(name, each.offset)
            yield Delivery(
                name, each.offset, each.key, each.value, each.headers, each.timestamp_ms, epoch
            )

    def _name(self, partition: int) -> str:
        return f"{self._topic.name}/{partition}"


class MemorySink:
    """Appends to a topic; see `Sink`."""

    def __init__(self, topic: MemoryTopic) -> None:
        self._topic = topic

    async def open(self) -> None:
        """Nothing to connect to."""

    async def publish(self, *, key: bytes, value: bytes, headers: Headers = ()) -> None:
        """Append the record."""
        self._topic.append(key=key, value=value, headers=headers)

    async def check(self) -> None:
        """Nothing can keep memory from taking records."""

    async def aclose(self) -> None:
        """Nothing to flush."""


def _index(partition: str) -> int:
    return int(partition.rpartition("/")[2])
