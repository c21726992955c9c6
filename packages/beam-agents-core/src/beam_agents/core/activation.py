"""The pure engine: (KeyState, envelope or timer, agent) → (KeyState', emissions).

An activation has no side effect of its own. It stages intents, and suspends or
completes; only then does the state change and do its intents leave. A run that
fails changes nothing. That is why a runner may repeat any of this.

No clock is read here but the envelope's and the timer's, and no Beam is imported:
`dofn.py` carries this engine in a pipeline, `testing.py` in a test.
"""

from __future__ import annotations

from beam_agents._protos import AgentEnvelope
from beam_agents._protos.state_pb2 import Continuation, KeyState, TimedOut
from beam_agents.core.agent import Agent, Complete
from beam_agents.core.clock import is_forgettable, now_of
from beam_agents.core.commit import Commit, Uncommittable, completed, suspended
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.continuation import is_over
from beam_agents.core.emissions import Emission
from beam_agents.core.intake import Intake
from beam_agents.core.invocation import Failed, invoke
from beam_agents.core.metrics import Metric
from beam_agents.core.run import Run
from beam_agents.core.state import REMEMBERED_TIMEOUTS, forget, short_digest
from beam_agents.core.time_limit import TimeLimit
from beam_agents.core.trace import Runner, Traced
from beam_agents.core.turn import Turn
from beam_agents.model.client import ModelClient


class ActivationEngine:
    """Runs one agent for any number of keys, each in its own state.

    Turns of one key must follow one another; those of different keys may overlap.
    """

    def __init__(self, agent: Agent, config: AgentConfig, token: str = "") -> None:
        self.namespace = config.namespace
        self._agent = agent
        self._config = config
        self._intake = Intake(config)
        self._limit = TimeLimit(config.activation_timeout_ms)
        factory = config.provider_factory
        self._model = ModelClient(factory, token) if factory is not None else None
        self._run: Runner = self._run_once
        if config.traces:
            self._run = Traced(self._run_once, with_payloads=config.trace_payloads)

    async def on_envelope(
        self, key: bytes, state: KeyState, envelope: AgentEnvelope
    ) -> list[Emission]:
        """Process one envelope of a key: edit its state, return what comes of it."""
        turn = Turn(self.namespace, key, state, now_of(envelope), envelope.event_time_ms)
        if self._intake.is_well_formed(turn, envelope):
            await self._run_all(turn, self._receive(turn, envelope) or self._ready(turn))
        return turn.emissions

    async def on_time(self, key: bytes, state: KeyState, at_ms: int) -> list[Emission]:
        """Do what is due at a time. Stale and doubled timers find nothing due."""
        turn = Turn(self.namespace, key, state, at_ms, at_ms)
        self._intake.expire_parked(turn)
        if state.HasField("continuation"):
            self._end_overdue(turn, state.continuation)
        elif is_forgettable(state) and state.active_ms + self._config.ttl_ms <= at_ms:
            _reduce_to_tombstone(turn)
        await self._run_all(turn, self._ready(turn))
        return turn.emissions

    def _receive(self, turn: Turn, envelope: AgentEnvelope) -> Run | None:
        """Take an envelope in; return the run that it begins, if it does."""
        match envelope.WhichOneof("payload"):
            case "external_event":
                if self._intake.accepts_event(turn, envelope):
                    return _fresh(turn, envelope, turn.now_ms)
            case "tool_result" | "approval":
                self._intake.take_answer(turn, envelope)
            case "retry":
                self._let_go(turn, envelope.retry.seq)
            case "export_request":
                turn.refuse("unsupported", "state cannot be exported yet", envelope)
            case _:
                turn.refuse("malformed", "it has no payload", envelope)
        return None

    async def _run_all(self, turn: Turn, run: Run | None) -> None:
        """Run, and go on until the key waits for something or nothing."""
        while run is not None:
            failed = await self._run(turn, run)
            if run.continuation is not None:
                self._end_resume(turn, run.continuation, failed)
            elif run.event is not None and failed is not None:
                _report_fresh(turn, run.event, run.seq, failed)
            run = self._ready(turn)

    def _ready(self, turn: Turn) -> Run | None:
        """Return the key's next run, if there is one that need not wait."""
        state = turn.state
        if state.parked:
            self._intake.judge_parked(turn)
        if state.HasField("continuation"):
            is_ready = is_over(state.continuation) and not state.continuation.held
            return _resumed(turn) if is_ready else None
        if not state.queue:
            return None
        event = AgentEnvelope()
        event.CopyFrom(state.queue[0])
        del state.queue[0]
        return _fresh(turn, event, max(now_of(event), turn.now_ms))

    # --- what ends a wait --------------------------------------------------------------------

    def _end_resume(self, turn: Turn, continuation: Continuation, failed: Failed | None) -> None:
        if failed is not None:
            self._hold(turn, failed)
        elif continuation.timed_out:
            _remember_timeout(turn.state, continuation)

    def _hold(self, turn: Turn, failed: Failed) -> None:
        """Keep what a failed resume was given: no answer of its effects is lost."""
        turn.fail_suspended("resume_failed", f"{failed.reason}: {failed.detail}")
        if self._config.on_resume_error == "end":
            turn.state.ClearField("continuation")
            return
        continuation = turn.state.continuation
        continuation.held = True
        if not continuation.hold_ends_ms:  # retries do not prolong it: every wait ends
            continuation.hold_ends_ms = turn.now_ms + self._config.hold_ms

    def _let_go(self, turn: Turn, seq: int) -> None:
        """Make a held resume ready again."""
        continuation = turn.state.continuation
        if continuation.held and continuation.seq == seq:
            continuation.held = False
        else:
            turn.count(Metric.IDLE_RETRIES)

    def _end_overdue(self, turn: Turn, continuation: Continuation) -> None:
        """End a hold, or a wait that nobody ended: closed, unless the agent asked for it."""
        if continuation.held:
            if continuation.hold_ends_ms <= turn.now_ms:
                turn.fail_suspended("hold_ended", "no retry of the failed resume succeeded in time")
                turn.state.ClearField("continuation")
            return
        if continuation.deadline_ms > turn.now_ms:
            return
        turn.count(Metric.SUSPENSION_TIMEOUTS)
        if self._config.on_timeout == "resume":
            continuation.timed_out = True
            return
        turn.fail_suspended("suspension_timeout", "an awaited answer did not come in time")
        _remember_timeout(turn.state, continuation)
        turn.state.ClearField("continuation")

    # --- one run -----------------------------------------------------------------------------

    async def _run_once(self, turn: Turn, run: Run) -> Failed | None:
        """Call the agent and commit what it returned, or say why nothing changes."""
        context = ActivationContext(run, self._config, self._model)
        outcome = await invoke(self._agent, context, self._limit)
        run.is_over = True
        if run.now_ms > turn.state.active_ms:
            turn.state.active_ms = run.now_ms
        if isinstance(outcome, Failed):
            return outcome
        try:
            if isinstance(outcome, Complete):
                commit = completed(run, outcome, self._config)
            else:
                commit = suspended(run, outcome, self._config)
            self._check_size(turn.state, commit)
        except Uncommittable as refused:
            return Failed(refused.reason, refused.detail)
        _apply(turn, commit)
        return None

    def _check_size(self, state: KeyState, commit: Commit) -> None:
        if commit.continuation is None and commit.memory is None:
            return
        size = state.ByteSize() - state.continuation.ByteSize()
        if commit.continuation is not None:
            size += commit.continuation.ByteSize()
        if commit.memory is not None:
            size += len(commit.memory) - len(state.memory)
        if size > self._config.max_state_bytes:
            raise Uncommittable(
                "state_too_large",
                f"the key's state would have {size} bytes, the limit is "
                f"AgentConfig(max_state_bytes={self._config.max_state_bytes})",
            )


def _fresh(turn: Turn, event: AgentEnvelope, now_ms: int) -> Run:
    """Begin an activation. Its seq is consumed however it ends."""
    state = turn.state
    seq = state.next_seq
    state.next_seq = seq + 1
    turn.count(Metric.ACTIVATIONS)
    return Run(
        turn.namespace, turn.key, seq, now_ms, event.event_time_ms, state.memory, event=event
    )


def _resumed(turn: Turn) -> Run:
    """Go on with the suspended activation."""
    continuation = Continuation()  # a copy: the agent may do with its messages what it likes
    continuation.CopyFrom(turn.state.continuation)
    turn.count(Metric.RESUMES)
    return Run(
        turn.namespace,
        turn.key,
        continuation.seq,
        turn.now_ms,
        turn.event_time_ms,
        turn.state.memory,
        continuation=continuation,
        model_calls=continuation.model_calls,
    )


def _report_fresh(turn: Turn, event: AgentEnvelope, seq: int, failed: Failed) -> None:
    """Report a failed activation. Nothing is left of it: the same event may be sent again."""
    state = turn.state
    if event.event_id:
        digest = short_digest(event.event_id.encode())
        state.event_digests = forget(state.event_digests, digest)
    turn.refuse(failed.reason, failed.detail, event, seq)


def _apply(turn: Turn, commit: Commit) -> None:
    if commit.memory is not None:
        turn.state.memory = commit.memory
    if commit.continuation is None:
        turn.state.ClearField("continuation")
    else:
        turn.state.continuation.CopyFrom(commit.continuation)
    turn.emissions += commit.emissions


def _remember_timeout(state: KeyState, continuation: Continuation) -> None:
    """Keep what tells that a later answer is late."""
    state.timed_out.append(TimedOut(seq=continuation.seq, steps=continuation.next_step))
    del state.timed_out[:-REMEMBERED_TIMEOUTS]


def _reduce_to_tombstone(turn: Turn) -> None:
    """Forget an idle key, but for its seq: a restarted one would mint old ids again."""
    for name in ("memory", "event_digests", "answer_digests", "timed_out", "active_ms"):
        turn.state.ClearField(name)
    turn.count(Metric.TOMBSTONES)
