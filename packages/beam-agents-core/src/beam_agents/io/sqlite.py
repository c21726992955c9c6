"""Topics of an embedded bus, for pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from beam_agents.embedded import EmbeddedBus, NewRecord
from beam_agents.intents.topics import TopicUri
from beam_agents.io.records import InboundRecord, OutboundRecord


class SqliteReader:
    """Reads one topic of a bus, without a group: a loop keeps its own positions."""

    def __init__(self, uri: TopicUri) -> None:
        self._topic = uri.topic
        self._bus = _open_bus(Path(uri.path).resolve())

    @property
    def log_id(self) -> str:
        """Names the bus by its own id: a file made anew is read from its beginning."""
        return f"sqlite:{self._bus.bus_id}:{self._topic}"

    def end(self) -> int:
        """Return the offset that the next record will have."""
        return self._bus.end_offset(self._topic)

    def read(self, start: int, limit: int, *, received_at_ms: int) -> Sequence[InboundRecord]:
        """Read records from an offset on; fewer than the limit only at the end of the log."""
        return [
            InboundRecord(
                key=record.key,
                value=record.value,
                headers=record.headers,
                timestamp_ms=record.timestamp_ms,
                received_at_ms=received_at_ms,
                topic=self._topic,
                offset=record.offset,
            )
            for record in self._bus.records(self._topic, start=start, limit=limit)
        ]


class SqliteWriter:
    """Appends to one topic of a bus."""

    def __init__(self, uri: TopicUri) -> None:
        self._topic = uri.topic
        self._bus = _open_bus(Path(uri.path).resolve())

    def write(self, records: Sequence[OutboundRecord]) -> None:
        """Publish all in one transaction."""
        self._bus.publish_all(
            self._topic, [NewRecord(each.key, each.value, each.headers) for each in records]
        )


@cache
def _open_bus(path: Path) -> EmbeddedBus:
    # One per file and process: writers are made anew for every bundle.
    return EmbeddedBus(path)
