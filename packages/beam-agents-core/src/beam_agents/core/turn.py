"""One envelope or timer of one key: what the engine works on, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from beam_agents._protos import ActivationErrorRecord, AgentEnvelope, ToolResult
from beam_agents._protos.state_pb2 import Continuation, KeyState
from beam_agents.core.continuation import answer_of, answer_to
from beam_agents.core.emissions import Emission
from beam_agents.core.metrics import Metric
from beam_agents.intents.identity import intent_id_for


@dataclass(slots=True)
class Turn:
    """The engine edits `state` in place and appends to `emissions`.

    Attributes:
        namespace: Of the agent.
        key: The element's key.
        state: All that is kept for it.
        now_ms: The time of what is processed.
        event_time_ms: Its event time.
        emissions: What comes of it, in order.
    """

    namespace: str
    key: bytes
    state: KeyState
    now_ms: int
    event_time_ms: int
    emissions: list[Emission] = field(default_factory=list)

    def count(self, metric: Metric) -> None:
        """Count something that leaves no other trace."""
        self.emissions.append(metric)

    def refuse(self, reason: str, detail: str, envelope: AgentEnvelope, seq: int = 0) -> None:
        """Report an envelope of which nothing is left, `seq` where it began an activation."""
        answer = answer_of(envelope)
        self._report(
            ActivationErrorRecord(
                reason=reason,
                detail=detail,
                event_time_ms=envelope.event_time_ms,
                seq=answer.seq if isinstance(answer, ToolResult) else seq,
                intent_id=answer.intent_id,
                envelope=envelope,
            )
        )

    def fail_suspended(self, reason: str, detail: str) -> None:
        """Report what befell the live continuation, with all that it holds."""
        continuation = self.state.continuation
        self._report(
            ActivationErrorRecord(
                reason=reason,
                detail=detail,
                event_time_ms=self.event_time_ms,
                seq=continuation.seq,
                continuation=continuation.SerializeToString(),
                requested_intent_ids=self._requested(continuation),
                answers=self._answers(continuation),
            )
        )

    def _report(self, record: ActivationErrorRecord) -> None:
        record.entity_key = self.key
        record.namespace = self.namespace
        self.emissions.append(record)
        self.emissions.append(Metric.ERRORS)

    def _requested(self, continuation: Continuation) -> list[str]:
        return [
            intent_id_for(self.key, continuation.seq, step, namespace=self.namespace)
            for step in range(continuation.next_step)
        ]

    def _answers(self, continuation: Continuation) -> Iterable[AgentEnvelope]:
        for intent in continuation.intents:
            envelope = AgentEnvelope(entity_key=self.key)
            match answer_to(intent):
                case ToolResult() as result:
                    envelope.event_time_ms = result.completed_at_ms
                    envelope.tool_result.CopyFrom(result)
                    yield envelope
                case AgentEnvelope.Approval() as approval:
                    envelope.event_time_ms = approval.decided_at_ms
                    envelope.approval.CopyFrom(approval)
                    yield envelope
