"""The approval requests of a topic, each once, with the first decision that counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeVar

from google.protobuf.message import DecodeError

from beam_agents._protos import AgentEnvelope, ToolIntent
from beam_agents.effector.ports import Browser, Delivery
from beam_agents.intents.keyring import Keyring
from beam_agents.intents.signing import Verified, verify
from beam_agents.intents.topics import declared_type

State = Literal["open", "expired", "approved", "denied"]
_Message = TypeVar("_Message", ToolIntent, AgentEnvelope)


@dataclass(slots=True)
class ApprovalRequest:
    """What an agent asks a person for.

    Attributes:
        intent: The request, as the effector passed it on.
        decision: The first decision on it, if there is one.
    """

    intent: ToolIntent
    decision: AgentEnvelope.Approval | None = None

    def state(self, now_ms: int) -> State:
        """Say what became of it; a decision stands, whenever one looks."""
        if self.decision is not None:
            return "approved" if self.decision.approved else "denied"
        return "expired" if now_ms >= self.intent.expires_at_ms else "open"


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose word counts; without keys, everybody's.

    Attributes:
        intent_keys: Verify the requests: a forged one must not be shown to a person.
        approval_keys: Verify the decisions.
    """

    intent_keys: Keyring | None = None
    approval_keys: Keyring | None = None


class ApprovalDesk:
    """Gathers requests and decisions from the records of any topics, in any order.

    Args:
        trust: Whose word counts.
    """

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._requests: dict[str, ApprovalRequest] = {}
        self._decisions: dict[str, AgentEnvelope.Approval] = {}
        self.unverified = 0

    async def read(self, topic: Browser) -> None:
        """Take in what a topic holds; requests and decisions may share it."""
        async for record in topic.records():
            self._take(record)

    def requests(self) -> list[ApprovalRequest]:
        """Return the requests, the oldest first."""
        for intent_id, request in self._requests.items():
            request.decision = self._decisions.get(intent_id)
        return sorted(self._requests.values(), key=lambda each: each.intent.created_at_ms)

    def _take(self, record: Delivery) -> None:
        intent = _message(record, ToolIntent)
        if intent is not None and intent.kind == ToolIntent.APPROVAL and intent.intent_id:
            if self._is_trusted(intent, self._trust.intent_keys):
                # A worker that died between publishing and recording published it again.
                self._requests.setdefault(intent.intent_id, ApprovalRequest(intent))
            return
        envelope = _message(record, AgentEnvelope)
        if envelope is not None and envelope.WhichOneof("payload") == "approval":
            decision = envelope.approval
            if self._is_trusted(decision, self._trust.approval_keys):
                self._decisions.setdefault(decision.intent_id, decision)

    def _is_trusted(
        self, message: ToolIntent | AgentEnvelope.Approval, keys: Keyring | None
    ) -> bool:
        trusted = keys is None or isinstance(verify(message, keys), Verified)
        self.unverified += not trusted
        return trusted


def _message(record: Delivery, message_type: type[_Message]) -> _Message | None:
    """Decode a record; None where it holds something else."""
    if not record.value:
        return None
    if declared_type(record.headers) not in (None, message_type.DESCRIPTOR.name):
        return None
    try:
        return message_type.FromString(record.value)
    except DecodeError:
        return None
