"""Making the result of an attempt the agreed one, unless another's is."""

from __future__ import annotations

import logging
from typing import Any

from beam_agents.effector.alarms import Alarms
from beam_agents.effector.attempt import Attempt
from beam_agents.effector.claims import STORE_SILENT
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import (
    ClaimLost,
    Conflict,
    DedupStore,
    Stored,
    Superseded,
)
from beam_agents.effector.refusals import Refusal, Refusals
from beam_agents.effector.steps import SILENCE, Agreed, Step, busy
from beam_agents.intents.outcome import Outcome

_log = logging.getLogger(__name__)


class Completion:
    """Stores results.

    Args:
        store: Holds one result per intent.
        refusals: Answer where the record's time is over.
        alarms: Time the waits for a silent store.
        lease_ms: How long a claim lasts.
    """

    def __init__(
        self, store: DedupStore, refusals: Refusals, alarms: Alarms, *, lease_ms: int
    ) -> None:
        self._store = store
        self._refusals = refusals
        self._alarms = alarms
        self._lease_ms = lease_ms

    async def agree(self, attempt: Attempt, result: bytes) -> Step:
        """Store the result, if the claim still holds, and return what the store agreed to.

        Asks until the store answers; the lease is renewed meanwhile, as far as it can be.
        """
        waits = 0
        while True:
            try:
                answer = await self._store.complete(
                    attempt.lease.claim,
                    attempt.work.fingerprint,
                    result,
                    expires_at_ms=attempt.work.expires_at_ms,
                )
                break
            except STORE_SILENT as error:
                _log.warning("the result is not stored yet: %s", error, extra=_fields(attempt))
            await self._alarms.resting(SILENCE.ms(waits))
            waits += 1
        match answer:
            case Stored(agreed):
                return Agreed(agreed)
            case Superseded(winners):
                # Where the taker still runs, never repeat `complete`: it may be dead. Claim.
                if winners is None:
                    return attempt.work.again(busy(self._lease_ms))
                return Agreed(winners)
            case Conflict():
                return Agreed(_lost_record(attempt), stored=False)
            case ClaimLost():
                return await self._refusals.record(attempt.work, Refusal.EXPIRED)


def _lost_record(attempt: Attempt) -> bytes:
    """Answer for a tool that ran under a claim which the store has forgotten."""
    _log.error(
        "the tool ran, but the record of its intent belongs to another request now: "
        "the dedup store has lost acknowledged writes",
        extra=_fields(attempt),
    )
    return attempt.error(Outcome.UNKNOWN, "the dedup store lost the record of this intent")


def _fields(attempt: Attempt) -> dict[str, Any]:
    return attempt.work.log_fields(Phase.COMPLETE, attempt=attempt.number)
