"""The wire: every message that crosses a process boundary (`protos/beam_agents/v1`)."""

from beam_agents._protos.envelopes_pb2 import AgentEnvelope
from beam_agents._protos.errors_pb2 import ActivationErrorRecord, Completion
from beam_agents._protos.intents_pb2 import ToolIntent
from beam_agents._protos.results_pb2 import ToolResult
from beam_agents._protos.signatures_pb2 import (
    ED25519,
    HMAC_SHA256,
    SIGNATURE_SCHEME_UNSPECIFIED,
    SignatureScheme,
)
from beam_agents._protos.traces_pb2 import ActivationTrace

__all__ = [
    "ED25519",
    "HMAC_SHA256",
    "SIGNATURE_SCHEME_UNSPECIFIED",
    "ActivationErrorRecord",
    "ActivationTrace",
    "AgentEnvelope",
    "Completion",
    "SignatureScheme",
    "ToolIntent",
    "ToolResult",
]
