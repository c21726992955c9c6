"""How every `ToolResult` is built, signed and encoded.

Copies of one answer must be the same bytes wherever they are made, so what is
answered without a claim is a pure function of the intent: no clock, no attempt.
"""

from __future__ import annotations

from beam_agents._protos import ToolResult
from beam_agents.effector.work import Work
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

    def expired(self, work: Work, outcome: Outcome) -> bytes:
        """Answer an intent that was not started in time."""
        result = _answer(work, Status.EXPIRED, outcome, _EXPIRED)
        result.completed_at_ms = work.expires_at_ms
        return self._encode(result)

    def conflict(self, work: Work) -> bytes:
        """Answer an intent whose id another request has taken."""
        result = _answer(work, Status.REJECTED, Outcome.UNKNOWN, _CONFLICT)
        result.completed_at_ms = work.intent.created_at_ms
        return self._encode(result)

    def too_distant(self, work: Work, outcome: Outcome) -> bytes:
        """Answer an intent whose deadline no agent of ours would set."""
        result = _answer(work, Status.REJECTED, outcome, _TOO_DISTANT)
        result.completed_at_ms = work.intent.created_at_ms
        return self._encode(result)

    def of_attempt(
        self,
        work: Work,
        status: Status,
        outcome: Outcome,
        *,
        attempt: int,
        started_at_ms: int,
        completed_at_ms: int,
        payload: bytes,
        message: str,
    ) -> bytes:
        """Answer what an attempt under a claim came to."""
        result = _answer(work, status, outcome, message)
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


def _answer(work: Work, status: Status, outcome: Outcome, message: str) -> ToolResult:
    intent, result = work.intent, ToolResult()  # assigning takes less than keywords do
    result.intent_id = work.intent_id
    result.entity_key = work.entity_key
    result.seq = intent.seq
    result.step_index = intent.step_index
    result.tool_name = intent.tool_name
    result.trace_id = intent.trace_id
    result.namespace = intent.namespace
    result.fingerprint = work.fingerprint
    result.status = status
    result.outcome = outcome
    result.error_message = message
    return result
