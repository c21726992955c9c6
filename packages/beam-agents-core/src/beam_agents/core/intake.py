"""What becomes of an envelope before any agent runs: it is accepted, kept, counted or refused."""

from __future__ import annotations

from typing_extensions import assert_never

from beam_agents._protos import AgentEnvelope
from beam_agents._protos.state_pb2 import ParkedAnswer
from beam_agents.core.admission import (
    Admission,
    Admitted,
    Early,
    Refused,
    Repeated,
    SaidByTimeout,
    Unawaited,
)
from beam_agents.core.authenticity import Authenticity
from beam_agents.core.clock import has_plausible_times
from beam_agents.core.config import AgentConfig
from beam_agents.core.continuation import admit, answer_of, digest_of
from beam_agents.core.metrics import Metric
from beam_agents.core.state import REMEMBERED_ANSWERS, remember, remembers, short_digest
from beam_agents.core.turn import Turn
from beam_agents.intents.identity import is_intent_id


class Intake:
    """Applies one agent's settings to what reaches its keys."""

    def __init__(self, config: AgentConfig) -> None:
        self._config = config
        self._authenticity = Authenticity(config.result_keys, config.approval_keys)

    def is_well_formed(self, turn: Turn, envelope: AgentEnvelope) -> bool:
        """Refuse what no part of the engine could make sense of."""
        if envelope.entity_key != turn.key:
            problem = "its entity_key is not the element's key"
        elif not has_plausible_times(envelope):
            problem = "its times are not unix milliseconds of the years 1 to 9999"
        else:
            return True
        turn.refuse("malformed", problem, envelope)
        return False

    # --- events ------------------------------------------------------------------------------

    def accepts_event(self, turn: Turn, envelope: AgentEnvelope) -> bool:
        """Tell whether an event is to run now; otherwise it is queued, dropped or refused."""
        oldest_ms = self._config.max_event_age_ms
        if oldest_ms is not None and turn.now_ms - envelope.event_time_ms > oldest_ms:
            turn.refuse(
                "stale",
                f"the event was {turn.now_ms - envelope.event_time_ms} ms old when received, "
                f"the limit is AgentConfig(max_event_age_ms={oldest_ms})",
                envelope,
            )
            return False
        digest = short_digest(envelope.event_id.encode()) if envelope.event_id else b""
        if digest and remembers(turn.state.event_digests, digest):
            turn.count(Metric.DUPLICATE_EVENTS)
            return False
        if turn.state.HasField("continuation"):
            self._queue(turn, envelope, digest)
            return False
        self._remember_event(turn, digest)
        return True

    def _remember_event(self, turn: Turn, digest: bytes) -> None:
        if digest:
            turn.state.event_digests = remember(
                turn.state.event_digests, digest, self._config.remembered_event_ids
            )

    def _queue(self, turn: Turn, envelope: AgentEnvelope, digest: bytes) -> None:
        if self._config.while_suspended == "reject":
            turn.refuse("suspended", "the key waits for an answer", envelope)
        elif len(turn.state.queue) >= self._config.max_queued_events:
            turn.refuse("queue_full", f"{len(turn.state.queue)} events wait already", envelope)
        elif self._has_room(turn, envelope):
            self._remember_event(turn, digest)
            turn.state.queue.append(envelope)
            turn.count(Metric.QUEUED_EVENTS)

    # --- answers -----------------------------------------------------------------------------

    def take_answer(self, turn: Turn, envelope: AgentEnvelope) -> None:
        """Admit an answer to the live continuation, or do with it what the rules say."""
        answer = answer_of(envelope)
        if answer.intent_id and not is_intent_id(answer.intent_id):
            problem = "its intent_id is not made of 1 to 256 printable ASCII characters"
            turn.refuse("malformed", problem, envelope)
        elif not Admission(turn.namespace, turn.key, turn.state).is_ours(answer):
            turn.count(Metric.OTHER_NAMESPACE)
        elif problem := self._authenticity.problem_of(answer):
            turn.refuse("unverified", problem, envelope)
        elif self._dispose(turn, envelope):
            self._park(turn, envelope)

    def judge_parked(self, turn: Turn) -> None:
        """Judge parked answers again: a suspension may have begun that awaits them."""
        waiting = list(turn.state.parked)
        del turn.state.parked[:]
        turn.state.parked.extend(
            parked for parked in waiting if self._dispose(turn, parked.envelope)
        )

    def expire_parked(self, turn: Turn) -> None:
        """Give up on answers that no suspension asked for in time."""
        for parked in [each for each in turn.state.parked if each.until_ms <= turn.now_ms]:
            turn.state.parked.remove(parked)
            turn.refuse("foreign", "no suspension asked for it in time", parked.envelope)

    def _dispose(self, turn: Turn, envelope: AgentEnvelope) -> bool:
        """Do what the verdict on an answer says; True if it came too early for one."""
        answer, state = answer_of(envelope), turn.state
        verdict = Admission(turn.namespace, turn.key, state).judge(answer, envelope.event_time_ms)
        match verdict:
            case Early():
                return True
            case Admitted(intent):
                if not self._has_room(turn, envelope):
                    return False
                admit(state.continuation, intent, answer)
            case Repeated():
                turn.count(Metric.REPEATED_ANSWERS)
                return False
            case SaidByTimeout():
                turn.count(Metric.EXPIRED_AFTER_TIMEOUT)
            case Unawaited():
                _note_unawaited(turn, verdict, envelope)
            case Refused(reason, detail):
                turn.refuse(reason, detail, envelope)
                if reason == "foreign":
                    return False  # not this key's answer: it may not displace one that is
            case _:
                assert_never(verdict)
        state.answer_digests = remember(state.answer_digests, digest_of(answer), REMEMBERED_ANSWERS)
        return False

    def _park(self, turn: Turn, envelope: AgentEnvelope) -> None:
        answer = answer_of(envelope)
        if any(answer_of(parked.envelope) == answer for parked in turn.state.parked):
            turn.count(Metric.REPEATED_ANSWERS)
        elif len(turn.state.parked) >= self._config.max_parked_answers:
            turn.refuse("foreign", "too many early answers wait already", envelope)
        elif self._has_room(turn, envelope):
            until_ms = turn.now_ms + self._config.parked_ms
            turn.state.parked.append(ParkedAnswer(envelope=envelope, until_ms=until_ms))
            turn.count(Metric.PARKED_ANSWERS)

    def _has_room(self, turn: Turn, envelope: AgentEnvelope) -> bool:
        size = turn.state.ByteSize() + envelope.ByteSize()
        if size <= self._config.max_state_bytes:
            return True
        turn.refuse(
            "state_too_large",
            f"with it the key's state would have {size} bytes, the limit is "
            f"AgentConfig(max_state_bytes={self._config.max_state_bytes})",
            envelope,
        )
        return False


def _note_unawaited(turn: Turn, verdict: Unawaited, envelope: AgentEnvelope) -> None:
    if verdict.intent is not None:  # a later wait of this activation has nothing to wait for
        turn.state.continuation.intents.remove(verdict.intent)
    if verdict.failed:
        turn.refuse("unawaited_failure", "nobody waits for this effect", envelope)
    else:
        turn.count(Metric.UNAWAITED_ANSWERS)
