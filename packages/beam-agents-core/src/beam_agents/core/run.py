"""One run of the agent function: its place, its time, and what it is given."""

from __future__ import annotations

from dataclasses import dataclass, field

from beam_agents._protos import AgentEnvelope, ToolIntent
from beam_agents._protos.state_pb2 import Continuation
from beam_agents.intents.fingerprint import origin_digest, trace_id_for
from beam_agents.intents.identity import intent_id_for


@dataclass(slots=True)
class Run:
    """What is known before the agent function is called.

    Attributes:
        namespace: Of the agent.
        key: The raw entity key.
        seq: Index of the logical activation.
        now_ms: The activation's only clock.
        event_time_ms: Of the envelope or timer that caused the run.
        memory: The key's memory so far.
        event: What began the activation; None on a resume.
        continuation: What the wait left; None on a fresh run.
        model_calls: How many model calls the activation has made, over all its runs.
        intents: What the agent function has staged, in step order.
        is_over: Whether the agent function has ended.
    """

    namespace: str
    key: bytes
    seq: int
    now_ms: int
    event_time_ms: int
    memory: bytes = b""
    event: AgentEnvelope | None = None
    continuation: Continuation | None = None
    model_calls: int = 0
    intents: list[ToolIntent] = field(default_factory=list, init=False)
    is_over: bool = field(default=False, init=False)
    _origin_digest: bytes = field(default=b"", init=False)
    _trace_id: bytes = field(default=b"", init=False)

    @property
    def first_step(self) -> int:
        """The step of the first intent that this run stages."""
        return self.continuation.next_step if self.continuation is not None else 0

    @property
    def next_step(self) -> int:
        """The step of the next intent that this run stages."""
        return self.first_step + len(self.intents)

    @property
    def origin_digest(self) -> bytes:
        """Digest of the event that began the activation; resumes keep it."""
        if self.event is None:
            return self.continuation.origin_digest if self.continuation is not None else b""
        if not self._origin_digest:
            self._origin_digest = origin_digest(
                self.event.external_event,
                event_time_ms=self.event.event_time_ms,
                event_id=self.event.event_id,
            )
        return self._origin_digest

    @property
    def trace_id(self) -> bytes:
        """Names the activation in traces, over all its runs."""
        if not self._trace_id:
            self._trace_id = trace_id_for(
                namespace=self.namespace,
                entity_key=self.key,
                seq=self.seq,
                origin_digest=self.origin_digest,
            )
        return self._trace_id

    def next_model_call(self) -> int:
        """Number a model call, so that a retry finds its answer again."""
        self.model_calls += 1
        return self.model_calls - 1

    def intent_id(self, step: int) -> str:
        """Return the id of one of this activation's intents."""
        return intent_id_for(self.key, self.seq, step, namespace=self.namespace)
