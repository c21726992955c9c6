"""What the log contracts work on: a fresh topic, and the back doors that their tests need."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from beam_agents.effector.ports import Delivery, Headers, Sink, Source

RECORD_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """A record, as far as a log is to keep it."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class LogBench(ABC):
    """One fresh topic of one partition, on the log under test.

    Attributes:
        patience_s: For how long a record is waited for that must not come.
        has_offsets: Whether the log numbers its records, so that one can tell how many wait.
    """

    patience_s = 0.2
    has_offsets = True

    @abstractmethod
    def source(self) -> Source:
        """Make a source of the topic: each a member of the same group, not yet open."""

    @abstractmethod
    def sink(self) -> Sink:
        """Make a sink of the topic, not yet open."""

    @abstractmethod
    async def append(self, *records: LoggedRecord) -> None:
        """Append records, not through a sink."""

    @abstractmethod
    async def records(self) -> list[LoggedRecord]:
        """Read the whole topic, not through a source."""

    @abstractmethod
    async def take_away(self, member: Member) -> None:
        """Have another member take the partition from this one, as a rebalance does.

        Returns when the member was told; the other member commits nothing, and is gone.
        """

    def lag(self, delivery: Delivery, records: int) -> dict[str, int]:
        """Say what a source tells when so many records of this one's partition wait."""
        return {delivery.partition: records} if self.has_offsets else {}


@dataclass(slots=True)
class Member:
    """An open source, with what it was told and what it handed out."""

    source: Source
    lost: list[str] = field(default_factory=list)
    told: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    async def join(cls, source: Source) -> Member:
        """Open a source."""
        member = cls(source)
        await source.open(member.on_lost)
        return member

    def on_lost(self, partitions: Collection[str]) -> None:
        """Remember what was taken away."""
        self.lost += partitions
        self.told.set()

    async def fetch(self, count: int) -> list[Delivery]:
        """Wait for so many deliveries."""
        fetched: list[Delivery] = []
        while len(fetched) < count:
            fetched += await asyncio.wait_for(self.source.fetch(), RECORD_LIMIT_S)
        return fetched

    async def finish(self, deliveries: Sequence[Delivery]) -> None:
        """Take deliveries back as done, and commit."""
        for delivery in deliveries:
            self.source.done(delivery)
        await self.source.commit()


def numbered(count: int, *, start: int = 0) -> list[LoggedRecord]:
    """Make records of one key that tell their place."""
    return [LoggedRecord(b"acct-1", str(number).encode()) for number in range(start, start + count)]


def values(deliveries: Sequence[Delivery]) -> list[int]:
    """Read the places of `numbered` records."""
    return [int(delivery.value or b"") for delivery in deliveries]
