"""Asking for the right to run an intent, and giving it back."""

from __future__ import annotations

import logging
from contextlib import suppress
from secrets import token_hex

from beam_agents.effector.claims import STORE_SILENT, Lease, Leases
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import (
    Busy,
    Claimed,
    Clock,
    Completed,
    Conflict,
    DedupStore,
    Expired,
)
from beam_agents.effector.refusals import Refusal, Refusals
from beam_agents.effector.steps import NOW, SILENCE, Agreed, Step, busy
from beam_agents.effector.work import Work

_log = logging.getLogger(__name__)


class Claiming:
    """Makes claim efforts.

    Args:
        store: Grants claims.
        leases: Keep granted claims alive.
        refusals: Answer where the store refuses for good.
        clock: Read before each call is sent.
        lease_ms: How long a claim lasts.
    """

    def __init__(
        self,
        store: DedupStore,
        leases: Leases,
        refusals: Refusals,
        clock: Clock,
        *,
        lease_ms: int,
    ) -> None:
        self._store = store
        self._leases = leases
        self._refusals = refusals
        self._clock = clock
        self._lease_ms = lease_ms
        self._worker = token_hex(8)
        self._efforts = 0

    async def ask(self, work: Work) -> Lease | Step:
        """Ask once; while the store is silent, the next call goes on with the same effort."""
        self._count_effort(work)
        try:
            answer = await self._store.claim(
                work.intent_id,
                work.fingerprint,
                work.token,
                lease_ms=self._lease_ms,
                expires_at_ms=work.expires_at_ms,
            )
        except STORE_SILENT as error:
            _log.warning(
                "the claim was not answered: %s", error, extra=work.log_fields(Phase.CLAIM)
            )
            return SILENCE
        match answer:
            case Claimed():
                if self._leases.over(work.sent_ms):
                    return NOW  # the answer took a whole lease: ask again, counted anew
                return self._leases.hold(answer, sent_ms=work.sent_ms)
            case Completed(result):
                return Agreed(result)
            case Busy(retry_after_ms):
                return work.again(busy(retry_after_ms))
            case Conflict():
                return self._refusals.conflict(work)
            case Expired():
                return await self._refusals.record(work, Refusal.EXPIRED)

    async def release(self, lease: Lease) -> None:
        """Hand a claim back whose tool was not called; where that fails, its lease ends."""
        with suppress(*STORE_SILENT):
            await self._store.release(lease.claim)

    def _count_effort(self, work: Work) -> None:
        """Begin an effort, or go on with the one whose call was not answered.

        An effort has a token of its own, so that a repeated call finds the claim
        which a call may have made whose answer was lost. Its lease counts from the
        first call, which may be the one that was granted; once that would be over,
        it counts anew from this call.
        """
        now_ms = self._clock.monotonic_ms()
        if not work.token:
            self._efforts += 1
            work.token = f"{self._worker}-{self._efforts}"
            work.sent_ms = now_ms
        elif self._leases.over(work.sent_ms):
            work.sent_ms = now_ms
