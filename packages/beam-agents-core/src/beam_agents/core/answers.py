"""The answers of one wait, as the resumed agent sees them."""

from __future__ import annotations

from typing import TypeVar

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents._protos.state_pb2 import OpenIntent
from beam_agents.core.continuation import Answer, answer_to, has_answer
from beam_agents.core.errors import ApprovalDenied, ApprovalNotGiven, ContextError
from beam_agents.core.run import Run
from beam_agents.intents.outcome import EffectError
from beam_agents.tools.canonical_json import JsonValue, parse_json
from beam_agents.tools.typed_results import MismatchedResult, decode_result

T = TypeVar("T")
Approval = AgentEnvelope.Approval


class Answers:
    """A view on a run's continuation; empty on a fresh run.

    Attributes:
        pending: The ids that are still unanswered, by step.
        results: The tool results of this wait by intent id.
        approvals: The decisions of this wait by intent id.
        last: The answer that completed the wait; None after a timeout.
    """

    def __init__(self, run: Run) -> None:
        continuation = run.continuation
        intents = continuation.intents if continuation is not None else ()
        self._intents: dict[str, OpenIntent] = {run.intent_id(each.step): each for each in intents}
        self._last_id = ""
        if continuation is not None and continuation.HasField("completed_by"):
            self._last_id = run.intent_id(continuation.completed_by)
        self.pending = tuple(each for each, open_ in self._intents.items() if not has_answer(open_))
        answers = {each: answer_to(open_) for each, open_ in self._intents.items()}
        self.results = {i: a for i, a in answers.items() if isinstance(a, ToolResult)}
        self.approvals = {i: a for i, a in answers.items() if isinstance(a, Approval)}
        self.last: Answer | None = answers.get(self._last_id)

    def value(self, intent_id: str | None, as_type: type[T] | None) -> T | JsonValue:
        """Decode an OK result; see `ActivationContext.value`."""
        intent_id = self._chosen(intent_id, ToolIntent.TOOL, "value")
        result = self.results.get(intent_id)
        if result is None:
            raise EffectError(
                ToolResult.STATUS_UNSPECIFIED,
                ToolResult.UNKNOWN,
                f"intent {intent_id!r} has no result in this wait",
            )
        if result.status != ToolResult.OK:
            outcome = result.outcome or ToolResult.UNKNOWN
            raise EffectError(result.status, outcome, result.error_message)
        if as_type is None:
            return parse_json(result.payload)
        try:
            return decode_result(result.payload, as_type)
        except MismatchedResult as error:
            raise ContextError(f"the value of intent {intent_id!r}: {error}") from None

    def grant(self, intent_id: str | None) -> Approval:
        """Return an approval that allows; see `ActivationContext.grant`."""
        intent_id = self._chosen(intent_id, ToolIntent.APPROVAL, "grant")
        if (result := self.results.get(intent_id)) is not None:
            raise ApprovalNotGiven(result.status, result.error_message)
        approval = self.approvals.get(intent_id)
        if approval is None:
            raise ApprovalNotGiven(
                ToolResult.STATUS_UNSPECIFIED, f"intent {intent_id!r} has no decision in this wait"
            )
        if not approval.approved:
            raise ApprovalDenied(approval.reason, approval.approver)
        if not approval.args_digest:
            raise ApprovalNotGiven(
                ToolResult.STATUS_UNSPECIFIED,
                "the decision does not say what it allows: the approval surface must set "
                "args_digest",
            )
        return approval

    def _chosen(self, intent_id: str | None, kind: ToolIntent.Kind, method: str) -> str:
        """Return the id that is meant: the one that completed the wait, or the only one."""
        if intent_id is not None:
            return intent_id
        fitting = [each for each, open_ in self._intents.items() if open_.kind == kind]
        if self._last_id in fitting:
            return self._last_id
        if len(fitting) != 1:
            raise ContextError(
                f"ctx.{method}() cannot tell which of {len(fitting)} intents is meant: "
                f"pass the id, ctx.{method}(intent_id)"
            )
        return fitting[0]
