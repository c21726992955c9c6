"""`sqlite://`: topics of an embedded bus, for pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from beam_agents.embedded import EmbeddedBus, NewRecord
from beam_agents.io.address import TopicAddress
from beam_agents.io.logs import Look
from beam_agents.io.records import InboundRecord, OutboundRecord


def partitions(address: TopicAddress) -> list[int]:
    """Return the one partition that a topic of a bus is."""
    return [0]


class SqliteReader:
    """Reads one topic of a bus, without a group: positions are the caller's alone."""

    def __init__(self, address: TopicAddress, partition: int) -> None:
        self._topic = address.uri.topic
        self._bus = _open_bus(Path(address.uri.path).resolve())

    @property
    def log_id(self) -> str:
        """Names the bus by its own id: a file made anew is read from its beginning."""
        return f"sqlite:{self._bus.bus_id}:{self._topic}"

    def first_offset(self) -> int:
        """Return where a topic begins."""
        return 0

    def has_more(self, offset: int) -> bool:
        """Tell whether there is something to read from an offset on."""
        return self._bus.end_offset(self._topic) > offset

    def look(self, offset: int, limit: int, now_ms: int) -> Look:
        """Read what is there from an offset on."""
        records = [
            InboundRecord(
                key=record.key,
                value=record.value,
                headers=record.headers,
                timestamp_ms=record.timestamp_ms,
                received_at_ms=now_ms,
                topic=self._topic,
                offset=record.offset,
            )
            for record in self._bus.records(self._topic, start=offset, limit=limit)
        ]
        next_offset = records[-1].offset + 1 if records else offset
        return Look(records, next_offset, now_ms if len(records) < limit else None)

    def commit(self, next_offset: int) -> None:
        """Nothing to do: there is no group."""

    def close(self) -> None:
        """Nothing to do: the bus is the process's."""


class SqliteWriter:
    """Appends to one topic of a bus."""

    def __init__(self, address: TopicAddress) -> None:
        self._topic = address.uri.topic
        self._bus = _open_bus(Path(address.uri.path).resolve())

    def write(self, records: Sequence[OutboundRecord]) -> None:
        """Publish all in one transaction."""
        self._bus.publish_all(
            self._topic, [NewRecord(each.key, each.value, each.headers) for each in records]
        )


@cache
def _open_bus(path: Path) -> EmbeddedBus:
    # One per file and process: writers are made anew for every bundle.
    return EmbeddedBus(path)
