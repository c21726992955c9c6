from beam_agents._protos import envelopes_pb2 as _envelopes_pb2
from beam_agents._protos import intents_pb2 as _intents_pb2
from beam_agents._protos import results_pb2 as _results_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class KeyState(_message.Message):
    __slots__ = ("next_seq", "continuation", "queue", "parked", "memory", "event_digests", "answer_digests", "timed_out", "active_ms", "armed_ms")
    NEXT_SEQ_FIELD_NUMBER: _ClassVar[int]
    CONTINUATION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PARKED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    EVENT_DIGESTS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_DIGESTS_FIELD_NUMBER: _ClassVar[int]
    TIMED_OUT_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_MS_FIELD_NUMBER: _ClassVar[int]
    ARMED_MS_FIELD_NUMBER: _ClassVar[int]
    next_seq: int
    continuation: Continuation
    queue: _containers.RepeatedCompositeFieldContainer[_envelopes_pb2.AgentEnvelope]
    parked: _containers.RepeatedCompositeFieldContainer[ParkedAnswer]
    memory: bytes
    event_digests: bytes
    answer_digests: bytes
    timed_out: _containers.RepeatedCompositeFieldContainer[TimedOut]
    active_ms: int
    armed_ms: int
    def __init__(self, next_seq: _Optional[int] = ..., continuation: _Optional[_Union[Continuation, _Mapping]] = ..., queue: _Optional[_Iterable[_Union[_envelopes_pb2.AgentEnvelope, _Mapping]]] = ..., parked: _Optional[_Iterable[_Union[ParkedAnswer, _Mapping]]] = ..., memory: _Optional[bytes] = ..., event_digests: _Optional[bytes] = ..., answer_digests: _Optional[bytes] = ..., timed_out: _Optional[_Iterable[_Union[TimedOut, _Mapping]]] = ..., active_ms: _Optional[int] = ..., armed_ms: _Optional[int] = ...) -> None: ...

class Continuation(_message.Message):
    __slots__ = ("seq", "origin_digest", "next_step", "model_calls", "snapshot", "adapter", "snapshot_version", "deadline_ms", "wait_for_any", "intents", "completed_by", "timed_out", "held", "hold_ends_ms")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_DIGEST_FIELD_NUMBER: _ClassVar[int]
    NEXT_STEP_FIELD_NUMBER: _ClassVar[int]
    MODEL_CALLS_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    ADAPTER_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_VERSION_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    WAIT_FOR_ANY_FIELD_NUMBER: _ClassVar[int]
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_BY_FIELD_NUMBER: _ClassVar[int]
    TIMED_OUT_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    HOLD_ENDS_MS_FIELD_NUMBER: _ClassVar[int]
    seq: int
    origin_digest: bytes
    next_step: int
    model_calls: int
    snapshot: bytes
    adapter: str
    snapshot_version: int
    deadline_ms: int
    wait_for_any: bool
    intents: _containers.RepeatedCompositeFieldContainer[OpenIntent]
    completed_by: int
    timed_out: bool
    held: bool
    hold_ends_ms: int
    def __init__(self, seq: _Optional[int] = ..., origin_digest: _Optional[bytes] = ..., next_step: _Optional[int] = ..., model_calls: _Optional[int] = ..., snapshot: _Optional[bytes] = ..., adapter: _Optional[str] = ..., snapshot_version: _Optional[int] = ..., deadline_ms: _Optional[int] = ..., wait_for_any: bool = ..., intents: _Optional[_Iterable[_Union[OpenIntent, _Mapping]]] = ..., completed_by: _Optional[int] = ..., timed_out: bool = ..., held: bool = ..., hold_ends_ms: _Optional[int] = ...) -> None: ...

class OpenIntent(_message.Message):
    __slots__ = ("step", "kind", "fingerprint", "grant_digest", "awaited", "result", "approval")
    STEP_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    GRANT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    AWAITED_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    step: int
    kind: _intents_pb2.ToolIntent.Kind
    fingerprint: bytes
    grant_digest: bytes
    awaited: bool
    result: _results_pb2.ToolResult
    approval: _envelopes_pb2.AgentEnvelope.Approval
    def __init__(self, step: _Optional[int] = ..., kind: _Optional[_Union[_intents_pb2.ToolIntent.Kind, str]] = ..., fingerprint: _Optional[bytes] = ..., grant_digest: _Optional[bytes] = ..., awaited: bool = ..., result: _Optional[_Union[_results_pb2.ToolResult, _Mapping]] = ..., approval: _Optional[_Union[_envelopes_pb2.AgentEnvelope.Approval, _Mapping]] = ...) -> None: ...

class ParkedAnswer(_message.Message):
    __slots__ = ("envelope", "until_ms")
    ENVELOPE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    envelope: _envelopes_pb2.AgentEnvelope
    until_ms: int
    def __init__(self, envelope: _Optional[_Union[_envelopes_pb2.AgentEnvelope, _Mapping]] = ..., until_ms: _Optional[int] = ...) -> None: ...

class TimedOut(_message.Message):
    __slots__ = ("seq", "steps")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    seq: int
    steps: int
    def __init__(self, seq: _Optional[int] = ..., steps: _Optional[int] = ...) -> None: ...

class EnvelopeBatch(_message.Message):
    __slots__ = ("envelopes", "timestamps_us")
    ENVELOPES_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMPS_US_FIELD_NUMBER: _ClassVar[int]
    envelopes: _containers.RepeatedCompositeFieldContainer[_envelopes_pb2.AgentEnvelope]
    timestamps_us: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, envelopes: _Optional[_Iterable[_Union[_envelopes_pb2.AgentEnvelope, _Mapping]]] = ..., timestamps_us: _Optional[_Iterable[int]] = ...) -> None: ...
