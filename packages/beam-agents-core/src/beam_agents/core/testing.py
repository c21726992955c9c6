"""`AgentHarness`: an agent under test in milliseconds, on the pure engine, without Beam."""

from __future__ import annotations

import uuid
from collections import Counter

from beam_agents._protos import (
    ActivationErrorRecord,
    ActivationTrace,
    AgentEnvelope,
    Completion,
    ToolIntent,
    ToolResult,
)
from beam_agents._protos.state_pb2 import KeyState
from beam_agents.core import loop
from beam_agents.core.activation import ActivationEngine
from beam_agents.core.agent import Agent
from beam_agents.core.bundle import Input, KeySession, run_together
from beam_agents.core.clock import next_due_ms
from beam_agents.core.config import AgentConfig
from beam_agents.core.emissions import Emission
from beam_agents.core.error_log import ErrorLog
from beam_agents.core.metrics import Metric
from beam_agents.core.slots import Slots
from beam_agents.core.state import Unreadable, decode
from beam_agents.intents.fingerprint import fingerprint, grant_digest


class UnexpectedError(AssertionError):
    """Something went wrong under an `AgentHarness(raise_errors=True)`.

    Attributes:
        record: What a pipeline would have emitted on `.errors`.
    """

    def __init__(self, record: ActivationErrorRecord) -> None:
        super().__init__(record)
        self.record = record

    def __str__(self) -> str:
        return f"{self.record.reason}: {self.record.detail}"


class AgentHarness:
    """Runs an agent on what a test sends it, and collects what comes of it.

    Time is what the test says: it moves to the latest `at_ms` that was sent, and
    nothing is due before `advance_to`. Every call is synchronous, also where an
    event loop is running. State passes through its bytes after each call, as in a
    pipeline.

    Args:
        agent: As for `RunAgent`; it need not be picklable.
        config: Its settings.
        raise_errors: Make every call raise the first error record that it brings, as
            `UnexpectedError`, so that no test overlooks one. They are kept and logged
            in any case.

    Attributes:
        now_ms: The latest time sent or advanced to.
        outputs: The bytes of each `Complete(output=…)`.
        intents: Every intent that left.
        errors: The error records.
        completions: One for each activation that ended by `Complete`.
        traces: One for each run, with `AgentConfig(traces=True)`.
        metrics: How often each `Metric` was counted.
    """

    def __init__(
        self, agent: Agent, config: AgentConfig | None = None, *, raise_errors: bool = False
    ) -> None:
        self._config = config if config is not None else AgentConfig()
        self._engine = ActivationEngine(agent, self._config, token=uuid.uuid4().hex)
        self._slots = Slots(1)
        self._raise_errors = raise_errors
        self._log = ErrorLog()
        self._cells: dict[bytes, bytes] = {}
        self.now_ms = 0
        self.outputs: list[bytes] = []
        self.intents: list[ToolIntent] = []
        self.errors: list[ActivationErrorRecord] = []
        self.completions: list[Completion] = []
        self.traces: list[ActivationTrace] = []
        self.metrics: Counter[Metric] = Counter()

    def event(self, key: bytes, payload: bytes, *, at_ms: int = 0, event_id: str = "") -> None:
        """Send an external event."""
        self.send(
            AgentEnvelope(
                entity_key=key, event_time_ms=at_ms, external_event=payload, event_id=event_id
            )
        )

    def result(
        self,
        intent: ToolIntent,
        payload: bytes = b"null",
        *,
        status: ToolResult.Status = ToolResult.OK,
        outcome: ToolResult.Outcome = ToolResult.OUTCOME_UNSPECIFIED,
        error_message: str = "",
        at_ms: int | None = None,
    ) -> None:
        """Answer an intent as the effector would; `at_ms` is by default now."""
        at_ms = self.now_ms if at_ms is None else at_ms
        result = ToolResult(
            intent_id=intent.intent_id,
            entity_key=intent.entity_key,
            seq=intent.seq,
            step_index=intent.step_index,
            tool_name=intent.tool_name,
            status=status,
            payload=payload,
            outcome=outcome,
            error_message=error_message,
            completed_at_ms=at_ms,
            trace_id=intent.trace_id,
            fingerprint=fingerprint(intent),
            namespace=intent.namespace,
        )
        self.send(
            AgentEnvelope(entity_key=intent.entity_key, event_time_ms=at_ms, tool_result=result)
        )

    def approve(self, intent: ToolIntent, *, approver: str = "", at_ms: int | None = None) -> None:
        """Answer an approval request with yes."""
        self._decide(intent, approved=True, approver=approver, reason="", at_ms=at_ms)

    def deny(
        self,
        intent: ToolIntent,
        *,
        reason: str = "",
        approver: str = "",
        at_ms: int | None = None,
    ) -> None:
        """Answer an approval request with no."""
        self._decide(intent, approved=False, approver=approver, reason=reason, at_ms=at_ms)

    def retry(self, key: bytes, seq: int, *, at_ms: int | None = None) -> None:
        """Run a held resume again."""
        envelope = AgentEnvelope(
            entity_key=key, event_time_ms=self.now_ms if at_ms is None else at_ms
        )
        envelope.retry.seq = seq
        self.send(envelope)

    def send(self, envelope: AgentEnvelope, *, key: bytes | None = None) -> None:
        """Send any envelope, by default to the key that it names."""
        self.now_ms = max(self.now_ms, envelope.event_time_ms, envelope.received_at_ms)
        self._turn(envelope.entity_key if key is None else key, envelope)

    def advance_to(self, at_ms: int) -> None:
        """Let time pass, and fire what is due, in the order of its time."""
        while due := [each for each in map(self._due, self._cells) if each and each[0] <= at_ms]:
            due_ms, key = min(due)
            self.now_ms = max(self.now_ms, due_ms)
            self._turn(key, due_ms)
        self.now_ms = max(self.now_ms, at_ms)

    def state(self, key: bytes) -> KeyState:
        """Return a copy of what is kept for a key."""
        state = decode(self._cells.get(key))
        if isinstance(state, Unreadable):
            raise ValueError(state.detail)
        return state

    def cell(self, key: bytes) -> bytes:
        """Return the bytes of a key's state cell, empty for a key never seen."""
        return self._cells.get(key, b"")

    def set_cell(self, key: bytes, cell: bytes) -> None:
        """Replace a key's state cell, as by one that another release wrote."""
        self._cells[key] = cell

    def _decide(
        self, intent: ToolIntent, *, approved: bool, approver: str, reason: str, at_ms: int | None
    ) -> None:
        at_ms = self.now_ms if at_ms is None else at_ms
        approval = AgentEnvelope.Approval(
            intent_id=intent.intent_id,
            approved=approved,
            approver=approver,
            reason=reason,
            decided_at_ms=at_ms,
            expires_at_ms=at_ms + intent.expires_at_ms - intent.created_at_ms,
            args_digest=grant_digest(
                namespace=intent.namespace,
                entity_key=intent.entity_key,
                tool_name=intent.tool_name,
                args_json=intent.args_json,
            ),
            namespace=intent.namespace,
        )
        self.send(
            AgentEnvelope(entity_key=intent.entity_key, event_time_ms=at_ms, approval=approval)
        )

    def _due(self, key: bytes) -> tuple[int, bytes] | None:
        state = decode(self._cells[key])
        if isinstance(state, Unreadable):
            return None
        due_ms = next_due_ms(state, self._config.ttl_ms)
        return None if due_ms is None else (due_ms, key)

    def _turn(self, key: bytes, item: Input) -> None:
        session: KeySession[None] = KeySession(key, self._cells.get(key))
        session.inbox.append((None, item))
        loop.run(run_together(self._engine, [session], self._slots))
        cell = session.changed_cell()
        if cell is not None:
            self._cells[key] = cell
        known = len(self.errors)
        for _, emissions in session.emissions:
            for emission in emissions:
                self._keep(emission)
        if self._raise_errors and self.errors[known:]:
            raise UnexpectedError(self.errors[known])

    def _keep(self, emission: Emission) -> None:
        match emission:
            case Metric():
                self.metrics[emission] += 1
            case bytes():
                self.outputs.append(emission)
            case ToolIntent():
                self.intents.append(emission)
            case ActivationErrorRecord():
                self.errors.append(emission)
                self._log.tell(emission)
            case Completion():
                self.completions.append(emission)
            case ActivationTrace():
                self.traces.append(emission)
