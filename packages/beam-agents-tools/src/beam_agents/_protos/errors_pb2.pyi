from beam_agents._protos import envelopes_pb2 as _envelopes_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ActivationErrorRecord(_message.Message):
    __slots__ = ("entity_key", "reason", "detail", "event_time_ms", "seq", "intent_id", "envelope", "continuation", "namespace", "requested_intent_ids", "answers")
    ENTITY_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    ENVELOPE_FIELD_NUMBER: _ClassVar[int]
    CONTINUATION_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_INTENT_IDS_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    entity_key: bytes
    reason: str
    detail: str
    event_time_ms: int
    seq: int
    intent_id: str
    envelope: _envelopes_pb2.AgentEnvelope
    continuation: bytes
    namespace: str
    requested_intent_ids: _containers.RepeatedScalarFieldContainer[str]
    answers: _containers.RepeatedCompositeFieldContainer[_envelopes_pb2.AgentEnvelope]
    def __init__(self, entity_key: _Optional[bytes] = ..., reason: _Optional[str] = ..., detail: _Optional[str] = ..., event_time_ms: _Optional[int] = ..., seq: _Optional[int] = ..., intent_id: _Optional[str] = ..., envelope: _Optional[_Union[_envelopes_pb2.AgentEnvelope, _Mapping]] = ..., continuation: _Optional[bytes] = ..., namespace: _Optional[str] = ..., requested_intent_ids: _Optional[_Iterable[str]] = ..., answers: _Optional[_Iterable[_Union[_envelopes_pb2.AgentEnvelope, _Mapping]]] = ...) -> None: ...

class Completion(_message.Message):
    __slots__ = ("entity_key", "seq", "event_time_ms", "output", "namespace")
    ENTITY_KEY_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    entity_key: bytes
    seq: int
    event_time_ms: int
    output: bytes
    namespace: str
    def __init__(self, entity_key: _Optional[bytes] = ..., seq: _Optional[int] = ..., event_time_ms: _Optional[int] = ..., output: _Optional[bytes] = ..., namespace: _Optional[str] = ...) -> None: ...
