"""What the records of each topic say, as rows of evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import DecodeError

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.effector.auditing.evidence import Evidence
from beam_agents.effector.dead_letters import DeadLetter
from beam_agents.effector.grants import grant_problem
from beam_agents.effector.ports import Delivery
from beam_agents.intents.fingerprint import fingerprint
from beam_agents.intents.identity import is_intent_id
from beam_agents.intents.keyring import Keyring
from beam_agents.intents.topics import declared_type
from beam_agents.tools import ToolArgumentsError, ToolRegistry

_Message = TypeVar("_Message", ToolIntent, ToolResult)


@dataclass(frozen=True, slots=True)
class IntentRecords:
    """The intents topic.

    Attributes:
        registry: Says which intents need a grant; without it nobody can say.
        approval_keys: Verify the grants; without them signatures are not looked at.
    """

    registry: ToolRegistry | None = None
    approval_keys: Keyring | None = None

    def add(self, record: Delivery, evidence: Evidence) -> None:
        """Keep an intent, or that the record is none."""
        intent = _decoded(record, ToolIntent)
        if isinstance(intent, str):
            evidence.add("unreadable", [(_place(record), intent)])
        elif not is_intent_id(intent.intent_id):
            reason = "bad_intent_id" if intent.intent_id else "no_intent_id"
            evidence.add("unreadable", [(_place(record), reason)])
        else:
            evidence.add("intents", [self._row(_place(record), intent)])

    def _row(self, place: str, intent: ToolIntent) -> Sequence[object]:
        needs_grant, problem = self._needs_grant(intent), None
        if needs_grant:
            # When it had to hold is known from the result: here, whether it ever could.
            problem = grant_problem(intent, now_ms=0, keys=self.approval_keys)
        return (
            None,
            place,
            intent.intent_id,
            fingerprint(intent),
            intent.entity_key,
            intent.kind == ToolIntent.APPROVAL,
            intent.tool_name,
            intent.expires_at_ms,
            intent.may_overlap,
            intent.approval.intent_id if needs_grant else None,
            intent.approval.expires_at_ms if needs_grant else None,
            problem,
        )

    def _needs_grant(self, intent: ToolIntent) -> bool:
        registry = self.registry
        if registry is None or intent.kind == ToolIntent.APPROVAL:
            return False
        if intent.tool_name not in registry:
            return False
        tool = registry[intent.tool_name]
        try:
            return tool.needs_approval(tool.parse_arguments(intent.args_json))
        except ToolArgumentsError:
            return False  # it cannot run at all


def add_result(record: Delivery, evidence: Evidence) -> None:
    """Keep a result; other records of the topic are no answers."""
    result = _decoded(record, ToolResult)
    if isinstance(result, str):
        return
    meaning = hashlib.sha256(
        f"{result.status} {result.outcome} {result.attempt} {result.error_message}\n".encode()
    )
    meaning.update(result.payload)
    evidence.add(
        "results",
        [
            (
                _place(record),
                result.intent_id,
                result.fingerprint,
                result.entity_key,
                ToolResult.Status.Name(result.status),
                ToolResult.Outcome.Name(result.outcome),
                result.attempt,
                result.started_at_ms,
                result.completed_at_ms,
                meaning.digest(),
                hashlib.sha256(record.value or b"").digest(),
            )
        ],
    )


def add_dead_letter(record: Delivery, evidence: Evidence) -> None:
    """Keep where a dead letter comes from."""
    try:
        letter = DeadLetter.read(record.key, record.value, record.headers)
    except (KeyError, ValueError):
        return
    evidence.add("dead_letters", [(f"{letter.partition}@{letter.offset}", letter.reason)])


def add_request(record: Delivery, evidence: Evidence) -> None:
    """Keep that a request reached the approvals topic, which decisions may share."""
    intent = _decoded(record, ToolIntent)
    if not isinstance(intent, str) and intent.kind == ToolIntent.APPROVAL:
        evidence.add("requests", [(intent.intent_id,)])


def _decoded(record: Delivery, message_type: type[_Message]) -> _Message | str:
    """Decode a record, or say why it cannot be."""
    if not record.value:
        return "null" if record.value is None else "empty"
    if declared_type(record.headers) not in (None, message_type.DESCRIPTOR.name):
        return "wrong_type"
    try:
        return message_type.FromString(record.value)
    except DecodeError:
        return "undecodable"


def _place(record: Delivery) -> str:
    return f"{record.partition}@{record.offset}"
