"""What an agent function returns, and the ids that it can know in advance."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from beam_agents.intents.identity import intent_id_for

if TYPE_CHECKING:
    from beam_agents.core.context import ActivationContext

__all__ = ["Agent", "Complete", "Suspend", "intent_id_for"]


@dataclass(frozen=True, slots=True)
class Complete:
    """Ends the activation, and lets its intents go.

    Attributes:
        output: Goes to `.output`; without it only a `Completion` says that the
            activation ended.
        memory: Replaces `ctx.memory` for the key's later activations; None leaves it.
    """

    output: bytes | None = None
    _: KW_ONLY
    memory: bytes | None = None


@dataclass(frozen=True, slots=True)
class Suspend:
    """Lets the activation's intents go, and waits for their answers.

    Attributes:
        snapshot: What the agent needs to go on; `ctx.snapshot` after the wait.
        adapter: Names what wrote the snapshot; `ctx.adapter` after the wait.
        timeout_ms: How long to wait, from the activation's own now. Must be positive.
        wait_for: "all" awaited answers, or "any" one of them.
        version: Of the snapshot's format; `ctx.snapshot_version` after the wait.
        await_ids: The intents to wait for; by default every unanswered intent of
            this activation.
        memory: Replaces `ctx.memory`; None leaves it.
    """

    snapshot: bytes
    adapter: str = ""
    timeout_ms: int = 0
    wait_for: Literal["all", "any"] = "all"
    _: KW_ONLY
    version: int = 0
    await_ids: Collection[str] | None = None
    memory: bytes | None = None


Agent: TypeAlias = Callable[["ActivationContext"], Awaitable[Complete | Suspend]]
