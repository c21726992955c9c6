from beam_agents._protos import intents_pb2 as _intents_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ActivationTrace(_message.Message):
    __slots__ = ("trace_id", "key_digest", "namespace", "seq", "is_resume", "first_step", "next_step", "model_calls", "event_time_ms", "now_ms", "run_us", "outcome", "reason", "event", "snapshot", "output", "next_snapshot", "intents")
    class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        OUTCOME_UNSPECIFIED: _ClassVar[ActivationTrace.Outcome]
        COMPLETED: _ClassVar[ActivationTrace.Outcome]
        SUSPENDED: _ClassVar[ActivationTrace.Outcome]
        FAILED: _ClassVar[ActivationTrace.Outcome]
    OUTCOME_UNSPECIFIED: ActivationTrace.Outcome
    COMPLETED: ActivationTrace.Outcome
    SUSPENDED: ActivationTrace.Outcome
    FAILED: ActivationTrace.Outcome
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    IS_RESUME_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    NEXT_STEP_FIELD_NUMBER: _ClassVar[int]
    MODEL_CALLS_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    NOW_MS_FIELD_NUMBER: _ClassVar[int]
    RUN_US_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    NEXT_SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    trace_id: bytes
    key_digest: bytes
    namespace: str
    seq: int
    is_resume: bool
    first_step: int
    next_step: int
    model_calls: int
    event_time_ms: int
    now_ms: int
    run_us: int
    outcome: ActivationTrace.Outcome
    reason: str
    event: bytes
    snapshot: bytes
    output: bytes
    next_snapshot: bytes
    intents: _containers.RepeatedCompositeFieldContainer[_intents_pb2.ToolIntent]
    def __init__(self, trace_id: _Optional[bytes] = ..., key_digest: _Optional[bytes] = ..., namespace: _Optional[str] = ..., seq: _Optional[int] = ..., is_resume: bool = ..., first_step: _Optional[int] = ..., next_step: _Optional[int] = ..., model_calls: _Optional[int] = ..., event_time_ms: _Optional[int] = ..., now_ms: _Optional[int] = ..., run_us: _Optional[int] = ..., outcome: _Optional[_Union[ActivationTrace.Outcome, str]] = ..., reason: _Optional[str] = ..., event: _Optional[bytes] = ..., snapshot: _Optional[bytes] = ..., output: _Optional[bytes] = ..., next_snapshot: _Optional[bytes] = ..., intents: _Optional[_Iterable[_Union[_intents_pb2.ToolIntent, _Mapping]]] = ...) -> None: ...
