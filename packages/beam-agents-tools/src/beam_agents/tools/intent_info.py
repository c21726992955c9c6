"""What a tool may know of the intent that it performs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from beam_agents.tools.errors import IntentInfoError

if TYPE_CHECKING:
    from typing_extensions import Self

    from beam_agents._protos import ToolIntent


@dataclass(frozen=True, slots=True)
class IntentInfo:
    """Identifies the execution; declare `*, intent: IntentInfo` on a tool to get it.

    It is injected by whoever runs the tool. It is never part of the tool's
    schema, and arguments cannot supply it.

    Attributes:
        intent_id: The idempotency key of the effect: the same in every attempt.
        entity_key: The key of the agent that asked.
        seq: Index of the activation of that key.
        step_index: Index of the effect within the activation.
        attempt: From 1, growing with each claim: a fencing token.
        deadline_ms: Unix milliseconds after which no attempt starts.
        trace_id: Of the activation, 16 bytes or none.
        namespace: Of the agent.

    Raises:
        IntentInfoError: No intent has such a key or attempt.
    """

    intent_id: str
    entity_key: bytes
    seq: int
    step_index: int
    attempt: int
    deadline_ms: int = 0
    trace_id: bytes = b""
    namespace: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.entity_key, bytes):
            raise IntentInfoError(f"entity_key={self.entity_key!r} must be bytes")
        if type(self.attempt) is not int or self.attempt < 1:
            raise IntentInfoError(f"attempt={self.attempt!r} must be an integer from 1 on")

    @classmethod
    def of(cls, intent: ToolIntent, *, attempt: int = 1) -> Self:
        """Build what a tool sees when an attempt runs this intent."""
        return cls(
            intent.intent_id,
            intent.entity_key,
            intent.seq,
            intent.step_index,
            attempt,
            intent.expires_at_ms,
            intent.trace_id,
            intent.namespace,
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> NoReturn:
        """Keep identities out of every schema: a model could forge one that is in it."""
        raise TypeError(
            "IntentInfo is injected, so arguments cannot hold it: "
            "declare it as a keyword-only parameter of its own, `*, intent: IntentInfo`"
        )
