"""One delivery on its way through the phases."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from beam_agents._protos import ToolIntent
from beam_agents.effector.interruptions import Interruption, Withdrawn
from beam_agents.effector.logs import intent_fields
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import Delivery
from beam_agents.effector.steps import Wait
from beam_agents.intents.fingerprint import fingerprint
from beam_agents.tools.document import Document
from beam_agents.tools.errors import CanonicalJsonError

_T = TypeVar("_T")


class Work:
    """A delivery, the intent in it, and what is known of it while it is under way.

    Attributes:
        delivery: What the source handed out.
        intent: The verified intent.
        intent_id, entity_key, expires_at_ms: Of the intent; a message makes a new object
            each time that it is asked.
        fingerprint: What the intent asks for, digested; empty until its arguments are read.
        document: The arguments; None where they cannot be read, for which they are refused.
        withdrawn: Nothing new may begin: no claim, no tool.
        token: Names the claim effort under way; empty between efforts.
        sent_ms: When that effort was first sent, on the monotonic clock.
        waits: How often in a row the intent had to wait; waits grow with it.
        premature: The EXPIRED that was published while the store was silent.
        remnant: A tool that was told to stop, and may go on; its key waits for it.
        remnant_ms: How long the key waits at most.
    """

    __slots__ = (
        "_ended_by",
        "_waiting_for",
        "delivery",
        "document",
        "entity_key",
        "expires_at_ms",
        "fingerprint",
        "intent",
        "intent_id",
        "premature",
        "remnant",
        "remnant_ms",
        "sent_ms",
        "token",
        "waits",
        "withdrawn",
    )

    def __init__(self, delivery: Delivery, intent: ToolIntent) -> None:
        self.delivery = delivery
        self.intent = intent
        self.intent_id = intent.intent_id
        self.entity_key = intent.entity_key
        self.expires_at_ms = intent.expires_at_ms
        self.fingerprint = b""
        self.document: Document | None = None
        self.withdrawn = False
        self.token = ""
        self.sent_ms = 0
        self.waits = 0
        self.premature: bytes | None = None
        self.remnant: asyncio.Future[Any] | None = None
        self.remnant_ms = 0
        self._waiting_for: asyncio.Future[Any] | None = None
        self._ended_by: Interruption | None = None

    def read_arguments(self) -> None:
        """Read the arguments, once for the digest and for the tool.

        When the intent's turn has come and not before: what waits stays small.
        """
        try:
            self.document = Document.read(self.intent.args_json)
        except CanonicalJsonError:
            self.fingerprint = fingerprint(self.intent)
        else:
            canonical = self.document.canonical
            self.fingerprint = fingerprint(self.intent, canonical_args=canonical)

    async def wait_for(self, future: asyncio.Future[_T]) -> _T:
        """Wait for something that may be given up at any time.

        Raises:
            Withdrawn: The work was withdrawn, before or meanwhile; the future is cancelled.
            Interruption: Whatever `end_wait` was called with; the future is cancelled.
        """
        self._waiting_for, self._ended_by = future, None
        try:
            self.check()
            return await future
        except asyncio.CancelledError:
            if self._ended_by is not None:
                raise self._ended_by from None
            raise
        finally:
            self._waiting_for = None
            future.cancel()

    def log_fields(self, phase: Phase, *, attempt: int = 0) -> dict[str, Any]:
        """Name the intent in a log line, as `extra=`."""
        return intent_fields(self.intent_id, self.entity_key, attempt=attempt, phase=phase.value)

    def end_wait(self, reason: Interruption) -> None:
        """End the wait that is under way, if there is one, by raising `reason` in it."""
        if self._waiting_for is not None:
            self._ended_by = reason
            self._waiting_for.cancel()

    def again(self, wait: Wait) -> Wait:
        """End the claim effort, and wait before the next one."""
        self.token = ""
        return wait

    def leave(self, remnant: asyncio.Future[Any] | None, ms: int) -> None:
        """Note what still runs for this work, for which its key waits a while."""
        self.remnant, self.remnant_ms = remnant, ms

    def check(self) -> None:
        """Raise `Withdrawn` if nothing new may begin."""
        if self.withdrawn:
            raise Withdrawn

    def withdraw(self) -> None:
        """Let nothing new begin, and end the wait that is under way."""
        self.withdrawn = True
        self.end_wait(Withdrawn())
