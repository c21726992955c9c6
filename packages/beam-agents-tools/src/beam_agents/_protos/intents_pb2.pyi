from beam_agents._protos import envelopes_pb2 as _envelopes_pb2
from beam_agents._protos import signatures_pb2 as _signatures_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ToolIntent(_message.Message):
    __slots__ = ("intent_id", "entity_key", "seq", "step_index", "tool_name", "args_json", "created_at_ms", "expires_at_ms", "attempt", "kind", "trace_id", "signature_scheme", "signing_key_id", "signature", "namespace", "approval", "origin_digest", "summary", "may_overlap", "schema_digest")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[ToolIntent.Kind]
        TOOL: _ClassVar[ToolIntent.Kind]
        APPROVAL: _ClassVar[ToolIntent.Kind]
    KIND_UNSPECIFIED: ToolIntent.Kind
    TOOL: ToolIntent.Kind
    APPROVAL: ToolIntent.Kind
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_KEY_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    STEP_INDEX_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    ARGS_JSON_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_SCHEME_FIELD_NUMBER: _ClassVar[int]
    SIGNING_KEY_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    MAY_OVERLAP_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_DIGEST_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    entity_key: bytes
    seq: int
    step_index: int
    tool_name: str
    args_json: str
    created_at_ms: int
    expires_at_ms: int
    attempt: int
    kind: ToolIntent.Kind
    trace_id: bytes
    signature_scheme: _signatures_pb2.SignatureScheme
    signing_key_id: str
    signature: bytes
    namespace: str
    approval: _envelopes_pb2.AgentEnvelope.Approval
    origin_digest: bytes
    summary: str
    may_overlap: bool
    schema_digest: bytes
    def __init__(self, intent_id: _Optional[str] = ..., entity_key: _Optional[bytes] = ..., seq: _Optional[int] = ..., step_index: _Optional[int] = ..., tool_name: _Optional[str] = ..., args_json: _Optional[str] = ..., created_at_ms: _Optional[int] = ..., expires_at_ms: _Optional[int] = ..., attempt: _Optional[int] = ..., kind: _Optional[_Union[ToolIntent.Kind, str]] = ..., trace_id: _Optional[bytes] = ..., signature_scheme: _Optional[_Union[_signatures_pb2.SignatureScheme, str]] = ..., signing_key_id: _Optional[str] = ..., signature: _Optional[bytes] = ..., namespace: _Optional[str] = ..., approval: _Optional[_Union[_envelopes_pb2.AgentEnvelope.Approval, _Mapping]] = ..., origin_digest: _Optional[bytes] = ..., summary: _Optional[str] = ..., may_overlap: bool = ..., schema_digest: _Optional[bytes] = ...) -> None: ...
