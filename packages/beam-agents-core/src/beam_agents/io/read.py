"""Readers of topics: each gives `.envelopes` for `RunAgent`, and `.errors`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PBegin, PCollection

from beam_agents.io.address import Credentials, TopicAddress
from beam_agents.io.direct_runner import LiveRead, LiveRunner
from beam_agents.io.envelopes import (
    DecisionsToEnvelopes,
    Envelopes,
    EnvelopesToEnvelopes,
    EventsToEnvelopes,
    ResultsToEnvelopes,
    ToEnvelopes,
)
from beam_agents.io.records import InboundRecord
from beam_agents.io.schemes import check_reader
from beam_agents.io.unbounded import UnboundedRead


class _Read(beam.PTransform[PBegin, Envelopes]):
    def __init__(self, uri: str, kafka: Credentials | None, to_envelopes: ToEnvelopes) -> None:
        super().__init__()
        self._address = TopicAddress(check_reader(uri), kafka)
        self._to_envelopes = to_envelopes

    def expand(self, begin: PBegin) -> Envelopes:
        """Read the topic and decode what it holds."""
        is_live = isinstance(begin.pipeline.runner, LiveRunner)
        read = LiveRead(self._address) if is_live else UnboundedRead(self._address)
        records: PCollection[InboundRecord] = begin | "Read" >> read
        envelopes: Envelopes = records | "ToEnvelopes" >> self._to_envelopes
        return envelopes


class ReadEnvelopes(_Read):
    """Reads `AgentEnvelope`s: events, or retries, that a producer put into envelopes.

    Args:
        uri: The topic, such as `kafka://broker:9092/events` or `sqlite:///bus.db?topic=events`.
        kafka: How to log in to Kafka.
    """

    def __init__(self, uri: str, *, kafka: Credentials | None = None) -> None:
        super().__init__(uri, kafka, EnvelopesToEnvelopes())


class ReadDecisions(_Read):
    """Reads decisions on approval requests, and skips the requests themselves.

    Args:
        uri: The topic, such as `sqlite:///bus.db?topic=approvals`.
        kafka: How to log in to Kafka.
    """

    def __init__(self, uri: str, *, kafka: Credentials | None = None) -> None:
        super().__init__(uri, kafka, DecisionsToEnvelopes())


class ReadResults(_Read):
    """Reads `ToolResult`s, as an effector publishes them.

    Args:
        uri: The topic, such as `sqlite:///bus.db?topic=results`.
        kafka: How to log in to Kafka.
    """

    def __init__(self, uri: str, *, kafka: Credentials | None = None) -> None:
        super().__init__(uri, kafka, ResultsToEnvelopes())


class ReadEvents(_Read):
    """Reads the user's own records as events.

    The functions get an `InboundRecord`; where one raises, the record goes to `.errors`.

    Args:
        uri: The topic, such as `sqlite:///bus.db?topic=chargebacks`.
        key: Gives the entity key; a record without one goes to `.errors`.
        event_time_ms: By default when the log took the record.
        event_id: The producer's own id of an event, by which repeats are dropped.
        payload: What the agent gets as `ctx.event`; by default the record's value.
        kafka: How to log in to Kafka.
    """

    def __init__(
        self,
        uri: str,
        *,
        key: Callable[[InboundRecord], bytes | None],
        event_time_ms: Callable[[InboundRecord], int] | None = None,
        event_id: Callable[[InboundRecord], str] | None = None,
        payload: Callable[[InboundRecord], bytes] | None = None,
        kafka: Credentials | None = None,
    ) -> None:
        fields: dict[str, Any] = {
            "key": key,
            "event_time_ms": event_time_ms,
            "event_id": event_id,
            "payload": payload,
        }
        super().__init__(uri, kafka, EventsToEnvelopes(**fields))
