"""Which answer resumes which continuation: a verdict on every ToolResult and Approval.

The rules are tried in the order in which they stand in `judge`. Whatever is not
admitted changes nothing of the continuation.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents._protos.state_pb2 import KeyState, OpenIntent
from beam_agents.core.continuation import Answer, answer_to, digest_of, has_answer
from beam_agents.core.state import remembers
from beam_agents.intents.identity import intent_id_for


@dataclass(frozen=True, slots=True)
class Admitted:
    """The answer belongs to this awaited intent."""

    intent: OpenIntent


@dataclass(frozen=True, slots=True)
class Repeated:
    """A byte-identical answer was dealt with before."""


@dataclass(frozen=True, slots=True)
class SaidByTimeout:
    """The intent expired unperformed, after a timeout that had said as much."""


@dataclass(frozen=True, slots=True)
class Unawaited:
    """The intent is this key's, and nobody waits for it.

    Attributes:
        failed: The answer is not OK: somebody should know.
        intent: The intent, where the live continuation still lists it.
    """

    failed: bool
    intent: OpenIntent | None = None


@dataclass(frozen=True, slots=True)
class Early:
    """The answer may come before its suspension: a runner replays topics in any order."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer is nobody's here."""

    reason: Literal["late", "foreign"]
    detail: str


Verdict: TypeAlias = Admitted | Repeated | SaidByTimeout | Unawaited | Early | Refused


@dataclass(slots=True)
class Admission:
    """Judges answers for one key, in the state that it has now."""

    namespace: str
    key: bytes
    state: KeyState

    def judge(self, answer: Answer, event_time_ms: int) -> Verdict:
        """Return what the answer is to this key."""
        continuation = self.state.continuation
        intent = self._open_intent(answer)
        misfit = "" if intent is None else self._misfit(intent, answer)
        waiting = intent is not None and intent.awaited and not has_answer(intent)
        in_time = continuation.held or event_time_ms < continuation.deadline_ms
        if intent is not None and waiting and not misfit and in_time:
            return Admitted(intent)
        if self._is_repeat(answer, intent):
            return Repeated()
        if (waiting and not misfit) or self._answers_timed_out(answer):
            return SaidByTimeout() if _expired_unperformed(answer) else _late_after_timeout()
        if misfit:
            return Refused("foreign", misfit)
        if intent is not None and has_answer(intent):
            return Refused("late", "the intent has another answer already")
        if intent is not None:
            return Unawaited(_failed(answer), intent)
        return self._judge_unlisted(answer)

    def is_ours(self, answer: Answer) -> bool:
        """Tell whether the answer is this agent's, or another's that shares its key.

        An answer without a namespace is ours if its id is one that we mint.
        """
        if answer.namespace == self.namespace:
            return True
        if answer.namespace:
            return False
        return self._open_intent(answer) is not None or self._recomputes(answer)

    def _judge_unlisted(self, answer: Answer) -> Verdict:
        if not isinstance(answer, ToolResult):
            return Early()  # an approval carries no position by which to tell more
        if not self._recomputes(answer):
            return Refused("foreign", "its id is none of this key's, as its seq and step say")
        return Unawaited(_failed(answer)) if self._has_reached(answer) else Early()

    def _has_reached(self, answer: ToolResult) -> bool:
        """Tell whether the key has been where the answered intent would have been staged."""
        continuation = self.state.continuation
        if self.state.HasField("continuation") and answer.seq == continuation.seq:
            return answer.step_index < continuation.next_step
        return answer.seq < self.state.next_seq

    def _open_intent(self, answer: Answer) -> OpenIntent | None:
        """Find the intent that the answer names in the live continuation."""
        continuation = self.state.continuation
        by_step = {intent.step: intent for intent in continuation.intents}
        step = self._step_of(answer, continuation.seq, by_step)
        return None if step is None else by_step[step]

    def _answers_timed_out(self, answer: Answer) -> bool:
        return any(
            self._step_of(answer, ended.seq, range(ended.steps)) is not None
            for ended in self.state.timed_out
        )

    def _step_of(self, answer: Answer, seq: int, steps: Collection[int]) -> int | None:
        """Return which of these steps the answer's id stands for."""
        hint = answer.step_index if isinstance(answer, ToolResult) else 0
        if hint in steps and answer.intent_id == self._id(seq, hint):
            return hint
        for step in steps:
            if answer.intent_id == self._id(seq, step):
                return step
        return None

    def _recomputes(self, answer: Answer) -> bool:
        return (
            isinstance(answer, ToolResult)
            and answer.entity_key in (b"", self.key)
            and answer.seq >= 0
            and answer.intent_id == self._id(answer.seq, answer.step_index)
        )

    def _misfit(self, intent: OpenIntent, answer: Answer) -> str:
        """Say what of the answer contradicts the intent that it names."""
        if isinstance(answer, AgentEnvelope.Approval):
            if intent.kind != ToolIntent.APPROVAL:
                return "an approval answers an intent that asked for none"
            if answer.args_digest not in (b"", intent.grant_digest):
                return "the approval is of other arguments"
            return ""
        if intent.kind == ToolIntent.APPROVAL and answer.status == ToolResult.OK:
            return "a tool's result answers a request for approval"
        if answer.entity_key not in (b"", self.key):
            return "the result is of another key"
        if answer.seq not in (0, self.state.continuation.seq):
            return "the result is of another activation"
        if answer.fingerprint not in (b"", intent.fingerprint):
            return "the result is of another request under the same id"
        return ""

    def _is_repeat(self, answer: Answer, intent: OpenIntent | None) -> bool:
        if intent is not None and answer_to(intent) == answer:
            return True
        return remembers(self.state.answer_digests, digest_of(answer))

    def _id(self, seq: int, step: int) -> str:
        return intent_id_for(self.key, seq, step, namespace=self.namespace)


def _expired_unperformed(answer: Answer) -> bool:
    return (
        isinstance(answer, ToolResult)
        and answer.status == ToolResult.EXPIRED
        and answer.outcome == ToolResult.NOT_APPLIED
    )


def _failed(answer: Answer) -> bool:
    return isinstance(answer, ToolResult) and answer.status != ToolResult.OK


def _late_after_timeout() -> Refused:
    return Refused("late", "the suspension had timed out: the effect may have happened")
