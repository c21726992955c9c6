from beam_agents._protos import results_pb2 as _results_pb2
from beam_agents._protos import signatures_pb2 as _signatures_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentEnvelope(_message.Message):
    __slots__ = ("entity_key", "event_time_ms", "external_event", "tool_result", "approval", "export_request", "retry", "event_id", "received_at_ms")
    class Approval(_message.Message):
        __slots__ = ("intent_id", "approved", "approver", "decided_at_ms", "args_digest", "expires_at_ms", "signature_scheme", "signing_key_id", "signature", "reason", "namespace")
        INTENT_ID_FIELD_NUMBER: _ClassVar[int]
        APPROVED_FIELD_NUMBER: _ClassVar[int]
        APPROVER_FIELD_NUMBER: _ClassVar[int]
        DECIDED_AT_MS_FIELD_NUMBER: _ClassVar[int]
        ARGS_DIGEST_FIELD_NUMBER: _ClassVar[int]
        EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
        SIGNATURE_SCHEME_FIELD_NUMBER: _ClassVar[int]
        SIGNING_KEY_ID_FIELD_NUMBER: _ClassVar[int]
        SIGNATURE_FIELD_NUMBER: _ClassVar[int]
        REASON_FIELD_NUMBER: _ClassVar[int]
        NAMESPACE_FIELD_NUMBER: _ClassVar[int]
        intent_id: str
        approved: bool
        approver: str
        decided_at_ms: int
        args_digest: bytes
        expires_at_ms: int
        signature_scheme: _signatures_pb2.SignatureScheme
        signing_key_id: str
        signature: bytes
        reason: str
        namespace: str
        def __init__(self, intent_id: _Optional[str] = ..., approved: bool = ..., approver: _Optional[str] = ..., decided_at_ms: _Optional[int] = ..., args_digest: _Optional[bytes] = ..., expires_at_ms: _Optional[int] = ..., signature_scheme: _Optional[_Union[_signatures_pb2.SignatureScheme, str]] = ..., signing_key_id: _Optional[str] = ..., signature: _Optional[bytes] = ..., reason: _Optional[str] = ..., namespace: _Optional[str] = ...) -> None: ...
    class ExportRequest(_message.Message):
        __slots__ = ("request_id",)
        REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
        request_id: str
        def __init__(self, request_id: _Optional[str] = ...) -> None: ...
    class Retry(_message.Message):
        __slots__ = ("seq",)
        SEQ_FIELD_NUMBER: _ClassVar[int]
        seq: int
        def __init__(self, seq: _Optional[int] = ...) -> None: ...
    ENTITY_KEY_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_EVENT_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULT_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    EXPORT_REQUEST_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    entity_key: bytes
    event_time_ms: int
    external_event: bytes
    tool_result: _results_pb2.ToolResult
    approval: AgentEnvelope.Approval
    export_request: AgentEnvelope.ExportRequest
    retry: AgentEnvelope.Retry
    event_id: str
    received_at_ms: int
    def __init__(self, entity_key: _Optional[bytes] = ..., event_time_ms: _Optional[int] = ..., external_event: _Optional[bytes] = ..., tool_result: _Optional[_Union[_results_pb2.ToolResult, _Mapping]] = ..., approval: _Optional[_Union[AgentEnvelope.Approval, _Mapping]] = ..., export_request: _Optional[_Union[AgentEnvelope.ExportRequest, _Mapping]] = ..., retry: _Optional[_Union[AgentEnvelope.Retry, _Mapping]] = ..., event_id: _Optional[str] = ..., received_at_ms: _Optional[int] = ...) -> None: ...
