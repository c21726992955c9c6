"""How every `ToolResult` is built, signed and encoded.

Copies of one answer must be the same bytes wherever they are made, so what is
answered without a claim is a pure function of the intent: no clock, no attempt.
"""

from __future__ import annotations

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.intents.outcome import Outcome, Status
from beam_agents.intents.signing import Signer

_CONFLICT = "the intent id stands for another request, whose answer is not this one's"
_EXPIRED = "the intent's deadline passed before a tool was started"
_TOO_DISTANT = "the intent's deadline is more than 31 days away"


class Results:
    """Builds terminal results.

    Args:
        signer: Signs each; without it they go out unsigned.
    """

    def __init__(self, signer: Signer | None = None) -> None:
        self._signer = signer

    def expired(self, intent: ToolIntent, fingerprint: bytes, outcome: Outcome) -> bytes:
        """Answer an intent that was not started in time."""
        result = _answer(intent, fingerprint, Status.EXPIRED, outcome, _EXPIRED)
        result.completed_at_ms = intent.expires_at_ms
        return self._encode(result)

    def conflict(self, intent: ToolIntent, fingerprint: bytes) -> bytes:
        """Answer an intent whose id another request has taken."""
        result = _answer(intent, fingerprint, Status.REJECTED, Outcome.UNKNOWN, _CONFLICT)
        result.completed_at_ms = intent.created_at_ms
        return self._encode(result)

    def too_distant(self, intent: ToolIntent, fingerprint: bytes, outcome: Outcome) -> bytes:
        """Answer an intent whose deadline no agent of ours would set."""
        result = _answer(intent, fingerprint, Status.REJECTED, outcome, _TOO_DISTANT)
        result.completed_at_ms = intent.created_at_ms
        return self._encode(result)

    def of_attempt(
        self,
        intent: ToolIntent,
        fingerprint: bytes,
        *,
        status: Status,
        outcome: Outcome,
        attempt: int,
        started_at_ms: int,
        completed_at_ms: int,
        payload: bytes = b"",
        message: str = "",
    ) -> bytes:
        """Answer what an attempt under a claim came to."""
        result = _answer(intent, fingerprint, status, outcome, message)
        result.payload = payload
        result.attempt = attempt
        result.started_at_ms = started_at_ms
        result.completed_at_ms = completed_at_ms
        return self._encode(result)

    def too_large(self, stored: bytes) -> bytes:
        """Say that a result is larger than the topic takes: a function of the stored one."""
        result = ToolResult.FromString(stored)
        result.status = Status.ERROR
        result.payload = b""
        result.error_message = f"the topic refuses the result for its size: {len(stored)} bytes"
        return self._encode(result)

    def _encode(self, result: ToolResult) -> bytes:
        if self._signer is not None:
            self._signer.sign(result)
        return result.SerializeToString(deterministic=True)


def _answer(
    intent: ToolIntent, fingerprint: bytes, status: Status, outcome: Outcome, message: str
) -> ToolResult:
    return ToolResult(
        intent_id=intent.intent_id,
        entity_key=intent.entity_key,
        seq=intent.seq,
        step_index=intent.step_index,
        tool_name=intent.tool_name,
        trace_id=intent.trace_id,
        namespace=intent.namespace,
        fingerprint=fingerprint,
        status=status,
        outcome=outcome,
        error_message=message,
    )
