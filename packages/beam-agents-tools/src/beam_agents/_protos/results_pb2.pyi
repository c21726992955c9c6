from beam_agents._protos import signatures_pb2 as _signatures_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ToolResult(_message.Message):
    __slots__ = ("intent_id", "entity_key", "seq", "status", "payload", "error_message", "completed_at_ms", "step_index", "tool_name", "outcome", "attempt", "started_at_ms", "trace_id", "signature_scheme", "signing_key_id", "signature", "fingerprint", "namespace")
    class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATUS_UNSPECIFIED: _ClassVar[ToolResult.Status]
        OK: _ClassVar[ToolResult.Status]
        ERROR: _ClassVar[ToolResult.Status]
        EXPIRED: _ClassVar[ToolResult.Status]
        REJECTED: _ClassVar[ToolResult.Status]
    STATUS_UNSPECIFIED: ToolResult.Status
    OK: ToolResult.Status
    ERROR: ToolResult.Status
    EXPIRED: ToolResult.Status
    REJECTED: ToolResult.Status
    class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        OUTCOME_UNSPECIFIED: _ClassVar[ToolResult.Outcome]
        NOT_APPLIED: _ClassVar[ToolResult.Outcome]
        APPLIED: _ClassVar[ToolResult.Outcome]
        UNKNOWN: _ClassVar[ToolResult.Outcome]
    OUTCOME_UNSPECIFIED: ToolResult.Outcome
    NOT_APPLIED: ToolResult.Outcome
    APPLIED: ToolResult.Outcome
    UNKNOWN: ToolResult.Outcome
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_KEY_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    STEP_INDEX_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_SCHEME_FIELD_NUMBER: _ClassVar[int]
    SIGNING_KEY_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    entity_key: bytes
    seq: int
    status: ToolResult.Status
    payload: bytes
    error_message: str
    completed_at_ms: int
    step_index: int
    tool_name: str
    outcome: ToolResult.Outcome
    attempt: int
    started_at_ms: int
    trace_id: bytes
    signature_scheme: _signatures_pb2.SignatureScheme
    signing_key_id: str
    signature: bytes
    fingerprint: bytes
    namespace: str
    def __init__(self, intent_id: _Optional[str] = ..., entity_key: _Optional[bytes] = ..., seq: _Optional[int] = ..., status: _Optional[_Union[ToolResult.Status, str]] = ..., payload: _Optional[bytes] = ..., error_message: _Optional[str] = ..., completed_at_ms: _Optional[int] = ..., step_index: _Optional[int] = ..., tool_name: _Optional[str] = ..., outcome: _Optional[_Union[ToolResult.Outcome, str]] = ..., attempt: _Optional[int] = ..., started_at_ms: _Optional[int] = ..., trace_id: _Optional[bytes] = ..., signature_scheme: _Optional[_Union[_signatures_pb2.SignatureScheme, str]] = ..., signing_key_id: _Optional[str] = ..., signature: _Optional[bytes] = ..., fingerprint: _Optional[bytes] = ..., namespace: _Optional[str] = ...) -> None: ...
