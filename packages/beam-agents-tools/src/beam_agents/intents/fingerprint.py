"""The digests of the wire: what identifies a request beyond its intent id.

Every digest starts with its own label and length-prefixes what is of variable
length, so that no two inputs share the same bytes. No time is ever covered.
"""

from __future__ import annotations

from hashlib import sha256
from struct import Struct

from beam_agents._protos import ToolIntent
from beam_agents.tools.document import Document
from beam_agents.tools.errors import CanonicalJsonError


def _prefixed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


_ORIGIN = _prefixed(b"beam-agents/origin/v1")
_FINGERPRINT = _prefixed(b"beam-agents/fingerprint/v1")
_GRANT = _prefixed(b"beam-agents/grant/v1")
_TRACE = _prefixed(b"beam-agents/trace/v1")

_NUMBERS = Struct(">qqq")
_LENGTH = Struct(">I")
_TOOL = ToolIntent.TOOL


def origin_digest(payload: bytes, *, event_time_ms: int, event_id: str = "") -> bytes:
    """Digest the event that began an activation, to 16 bytes.

    Args:
        payload: The event's bytes.
        event_time_ms: Told apart by, where the producer gives events no id.
        event_id: The producer's own id; the event time is then left out.
    """
    return sha256(
        _ORIGIN
        + _prefixed(event_id.encode())
        + _i64(0 if event_id else event_time_ms)
        + _prefixed(payload)
    ).digest()[:16]


def fingerprint(intent: ToolIntent, *, canonical_args: bytes | None = None) -> bytes:
    """Digest what an intent asks for, to 32 bytes.

    Two intents of one id and different fingerprints are different requests: a
    retried activation took another path, or state was lost.

    Args:
        intent: The request.
        canonical_args: Its `args_json` in canonical form, where that is known already.
    """
    namespace, key, name = intent.namespace.encode(), intent.entity_key, intent.tool_name.encode()
    args = _canonical(intent.args_json) if canonical_args is None else canonical_args
    origin = intent.origin_digest
    # As `_prefixed` would have it, in one go: an effector does this for every record.
    digested = (
        _FINGERPRINT,
        *(_LENGTH.pack(len(namespace)), namespace),
        *(_LENGTH.pack(len(key)), key),
        _NUMBERS.pack(intent.seq, intent.step_index, intent.kind or _TOOL),
        *(_LENGTH.pack(len(name)), name),
        *(_LENGTH.pack(len(args)), args),
        *(_LENGTH.pack(len(origin)), origin),
    )
    return sha256(b"".join(digested)).digest()


def grant_digest(*, namespace: str, entity_key: bytes, tool_name: str, args_json: str) -> bytes:
    """Digest what a person was asked to allow, to 32 bytes (`Approval.args_digest`)."""
    return sha256(
        _GRANT
        + _prefixed(namespace.encode())
        + _prefixed(entity_key)
        + _prefixed(tool_name.encode())
        + _prefixed(_canonical(args_json))
    ).digest()


def trace_id_for(*, namespace: str, entity_key: bytes, seq: int, origin_digest: bytes) -> bytes:
    """Compute the trace id of an activation, 16 bytes; its resumes keep it."""
    return sha256(
        _TRACE
        + _prefixed(namespace.encode())
        + _prefixed(entity_key)
        + _i64(seq)
        + _prefixed(origin_digest)
    ).digest()[:16]


def _i64(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


def _canonical(args_json: str) -> bytes:
    try:
        return Document.read(args_json).canonical
    except CanonicalJsonError:
        return args_json.encode()  # refused later; until then it still needs a fingerprint
