"""One attempt under a claim: who tries what, and how its results are built."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from beam_agents._protos import ToolIntent
from beam_agents.effector.claims import Lease
from beam_agents.effector.error_text import bounded
from beam_agents.effector.interruptions import ClaimOver, DeadlinePassed
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import Clock
from beam_agents.effector.results import Results
from beam_agents.effector.work import Work
from beam_agents.intents.outcome import Outcome, Status
from beam_agents.tools import IntentInfo

_log = logging.getLogger(__name__)

# Looked up once: an enum of protobuf resolves a name anew each time, in Python.
_OK, _APPLIED = Status.OK, Outcome.APPLIED


@dataclass(slots=True)
class Attempt:
    """An attempt, and the results that it may end with.

    Attributes:
        work: What is attempted.
        lease: The claim under which.
        results: Builds results.
        clock: Stamps them.
        started_at_ms: When the tool was first called; 0 before.
        started_ms: The same moment on the monotonic clock.
    """

    work: Work
    lease: Lease
    results: Results
    clock: Clock
    started_at_ms: int = field(default=0, init=False)
    started_ms: int = field(default=0, init=False)

    @property
    def intent(self) -> ToolIntent:
        """What is asked for."""
        return self.work.intent

    @property
    def number(self) -> int:
        """The fencing token."""
        return self.lease.claim.attempt

    @property
    def ms_until_deadline(self) -> int:
        """How much time is left to start something; not above 0 when there is none."""
        return self.work.expires_at_ms - self.clock.now_ms()

    async def require_startable(self) -> None:
        """Check, at the last moment, that a first call may begin.

        Raises:
            Withdrawn: Nothing new may begin.
            DeadlinePassed: It is too late.
            ClaimOver: The claim may not be acted on any more.
        """
        self.work.check()
        self.require_time()

    def require_time(self) -> int:
        """Check that the deadline and the claim allow a call to begin now, and return the time.

        Raises:
            DeadlinePassed: It is too late.
            ClaimOver: The claim may not be acted on any more.
        """
        now_ms = self.clock.now_ms()
        if now_ms >= self.work.expires_at_ms:
            raise DeadlinePassed
        if self.lease.over:
            raise ClaimOver
        return now_ms

    def begin(self) -> None:
        """Note that the tool is called now, if it may be; a repeated run keeps the first time.

        Raises:
            DeadlinePassed, ClaimOver: See `require_time`.
        """
        now_ms = self.require_time()
        if not self.started_at_ms:
            self.started_at_ms = now_ms
            self.started_ms = self.clock.monotonic_ms()

    def info(self) -> IntentInfo:
        """Describe the attempt to the tool."""
        return IntentInfo.of(self.intent, attempt=self.number)

    def ok(self, payload: bytes) -> bytes:
        """The tool returned this."""
        return self._ended(_OK, _APPLIED, payload, "")

    def error(self, outcome: Outcome, message: str, payload: bytes = b"") -> bytes:
        """The tool ran, and failed."""
        _log.warning("tool %r failed: %s", self.intent.tool_name, message, extra=self._fields())
        return self._ended(Status.ERROR, outcome, payload, bounded(message))

    def rejected(self, reason: str) -> bytes:
        """This attempt does not call the tool."""
        _log.warning("tool %r rejected: %s", self.intent.tool_name, reason, extra=self._fields())
        return self._ended(Status.REJECTED, self._outcome_if_not_started(), b"", bounded(reason))

    def expired(self) -> bytes:
        """The deadline passed before this attempt called the tool."""
        return self.results.expired(self.work, self._outcome_if_not_started())

    def _fields(self) -> dict[str, Any]:
        return self.work.log_fields(Phase.EXECUTE, attempt=self.number)

    def _outcome_if_not_started(self) -> Outcome:
        # From the second attempt on, an earlier one may have called the tool.
        return Outcome.NOT_APPLIED if self.number == 1 else Outcome.UNKNOWN

    def _ended(self, status: Status, outcome: Outcome, payload: bytes, message: str) -> bytes:
        return self.results.of_attempt(
            self.work,
            status,
            outcome,
            attempt=self.number,
            started_at_ms=self.started_at_ms,
            completed_at_ms=self.clock.now_ms(),
            payload=payload,
            message=message,
        )
