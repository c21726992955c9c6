"""From a record to a keyed envelope, or to the reason why not. No Beam."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from google.protobuf.message import DecodeError, Message

from beam_agents._protos import ActivationErrorRecord, AgentEnvelope, ToolIntent, ToolResult
from beam_agents.intents.topics import declared_type
from beam_agents.io.records import InboundRecord

M = TypeVar("M", bound=Message)
KeyedEnvelope: TypeAlias = tuple[bytes, AgentEnvelope]


class Undecodable(ValueError):
    """The record is not what its topic should hold."""


@dataclass(frozen=True)
class Skipped:
    """A record that is rightly there, and not for us."""


Decoded: TypeAlias = KeyedEnvelope | Skipped


def envelope_of(element: InboundRecord | bytes) -> Decoded:
    """Read an `AgentEnvelope`, of an event, a decision or a retry.

    Raises:
        Undecodable: The bytes are no envelope, or declared as something else.
    """
    record = _record(element)
    envelope = _parse(record, AgentEnvelope)
    key = envelope.entity_key if record.key is None else record.key
    return _stamped(key, envelope, record)


def decision_of(element: InboundRecord | bytes) -> Decoded:
    """Read a decision; skip the approval requests that may share its topic.

    Raises:
        Undecodable: The bytes are no envelope, or declared as something else.
    """
    if declared_type(_record(element).headers) == ToolIntent.DESCRIPTOR.name:
        return Skipped()
    return envelope_of(element)


def result_of(element: InboundRecord | bytes) -> Decoded:
    """Read a `ToolResult`; when it was completed is its event time.

    Raises:
        Undecodable: The bytes are no result, or declared as something else.
    """
    record = _record(element)
    result = _parse(record, ToolResult)
    key = result.entity_key if record.key is None else record.key
    envelope = AgentEnvelope(
        entity_key=key, event_time_ms=result.completed_at_ms, tool_result=result
    )
    return _stamped(key, envelope, record)


@dataclass(frozen=True)
class EventFields:
    """Where an event's fields are in the user's own records.

    Attributes:
        key: Gives the entity key; a record without one goes to `.errors`.
        event_time_ms: By default the record's timestamp, or now.
        event_id: By default none.
        payload: What the agent gets as `ctx.event`; by default the record's value.
    """

    key: Callable[[Any], bytes | None]
    event_time_ms: Callable[[Any], int] | None = None
    event_id: Callable[[Any], str] | None = None
    payload: Callable[[Any], bytes] | None = None

    def __call__(self, element: Any) -> Decoded:
        """Make the envelope of an event.

        Raises:
            Undecodable: One of the functions failed, or gave what an envelope cannot hold.
        """
        record = element if isinstance(element, InboundRecord) else None
        received_at_ms = record.received_at_ms if record else _now_ms()
        try:
            key = self.key(element)
            if not isinstance(key, bytes):
                raise TypeError(f"an entity key is bytes, not {type(key).__name__}")
            envelope = AgentEnvelope(
                entity_key=key,
                event_time_ms=self._event_time_ms(element, received_at_ms),
                external_event=self._payload(element),
                event_id=self.event_id(element) if self.event_id else "",
                received_at_ms=received_at_ms,
            )
        except Exception as error:
            # Whatever the user's functions raise on bad input: one record must
            # not stop the topic.
            raise Undecodable(f"{type(error).__name__}: {error}") from error
        return key, envelope

    def _event_time_ms(self, element: Any, received_at_ms: int) -> int:
        if self.event_time_ms is not None:
            return self.event_time_ms(element)
        return element.timestamp_ms if isinstance(element, InboundRecord) else received_at_ms

    def _payload(self, element: Any) -> bytes:
        payload: object = element.value if isinstance(element, InboundRecord) else element
        if self.payload is not None:
            payload = self.payload(element)
        if not isinstance(payload, bytes):
            raise TypeError(f"a payload is bytes, not {type(payload).__name__}: see payload=")
        return payload


def error_record(element: object, error: Undecodable) -> ActivationErrorRecord:
    """Say which record could not be read, and why; its bytes stay in the topic."""
    if not isinstance(element, InboundRecord):
        return ActivationErrorRecord(reason="undecodable", detail=str(error))
    return ActivationErrorRecord(
        reason="undecodable",
        detail=f"{element.place}: {error}",
        entity_key=element.key or b"",
        event_time_ms=element.timestamp_ms,
    )


def _record(element: InboundRecord | bytes) -> InboundRecord:
    if isinstance(element, InboundRecord):
        return element
    return InboundRecord(key=None, value=element, received_at_ms=_now_ms())


def _parse(record: InboundRecord, message_type: type[M]) -> M:
    name = message_type.DESCRIPTOR.name
    declared = declared_type(record.headers)
    if declared not in (None, name):
        raise Undecodable(f"declared as {declared!r}, where {name} is expected")
    if record.value is None:
        raise Undecodable(f"no value, where {name} is expected")
    try:
        return message_type.FromString(record.value)
    except DecodeError as error:
        raise Undecodable(f"not {name}: {error}") from error


def _stamped(key: bytes, envelope: AgentEnvelope, record: InboundRecord) -> KeyedEnvelope:
    envelope.received_at_ms = record.received_at_ms
    return key, envelope


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
