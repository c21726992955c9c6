"""What a suspension persists, and the answers that arrive in it."""

from __future__ import annotations

from typing import TypeAlias

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents._protos.state_pb2 import Continuation, OpenIntent
from beam_agents.core.run import Run
from beam_agents.core.state import short_digest
from beam_agents.intents.fingerprint import fingerprint, grant_digest

Answer: TypeAlias = ToolResult | AgentEnvelope.Approval


def open_intents(run: Run) -> dict[str, OpenIntent]:
    """Return the unanswered intents of an activation by id, the newly staged last."""
    earlier = run.continuation.intents if run.continuation is not None else ()
    unanswered = {run.intent_id(each.step): each for each in earlier if not has_answer(each)}
    return unanswered | {intent.intent_id: _opened(intent) for intent in run.intents}


def _opened(intent: ToolIntent) -> OpenIntent:
    # Staging wrote the arguments in canonical JSON.
    digest = fingerprint(intent, canonical_args=intent.args_json.encode())
    opened = OpenIntent(step=intent.step_index, kind=intent.kind, fingerprint=digest)
    if intent.kind == ToolIntent.APPROVAL:
        opened.grant_digest = grant_digest(
            namespace=intent.namespace,
            entity_key=intent.entity_key,
            tool_name=intent.tool_name,
            args_json=intent.args_json,
        )
    return opened


def answer_of(envelope: AgentEnvelope) -> Answer:
    """Return the answer that an envelope carries, an empty one if it carries none."""
    return envelope.tool_result if envelope.HasField("tool_result") else envelope.approval


def answer_to(intent: OpenIntent) -> Answer | None:
    """Return the answer that an intent has."""
    if not has_answer(intent):
        return None
    return intent.result if intent.HasField("result") else intent.approval


def has_answer(intent: OpenIntent) -> bool:
    """Tell whether the intent has been answered."""
    return intent.WhichOneof("answer") is not None


def digest_of(answer: Answer) -> bytes:
    """Return the digest by which a repeat of the answer is known."""
    return short_digest(answer.SerializeToString(deterministic=True))


def admit(continuation: Continuation, intent: OpenIntent, answer: Answer) -> None:
    """Keep an admitted answer, and end the wait if it was the last one needed."""
    if isinstance(answer, ToolResult):
        intent.result.CopyFrom(answer)
    else:
        intent.approval.CopyFrom(answer)
    if is_over(continuation):
        return
    if continuation.wait_for_any or all(
        has_answer(each) for each in continuation.intents if each.awaited
    ):
        continuation.completed_by = intent.step


def is_over(continuation: Continuation) -> bool:
    """Tell whether the wait has ended, by an answer or by its timeout."""
    return continuation.HasField("completed_by") or continuation.timed_out
