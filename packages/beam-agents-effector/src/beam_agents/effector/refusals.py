"""Intents that are answered without a claim: too late, too distant, or another's id."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from enum import Enum
from typing import Any, TypeVar

from beam_agents.effector.alarms import Alarms
from beam_agents.effector.claims import STORE_SILENT
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import (
    DEADLINE_GRACE_MS,
    Busy,
    Clock,
    Completed,
    Conflict,
    DedupStore,
    RecordTooLarge,
    RefusalAnswer,
    Stored,
)
from beam_agents.effector.publishing import ResultsTopic
from beam_agents.effector.results import Results
from beam_agents.effector.steps import SILENCE, Agreed, Step, busy
from beam_agents.effector.work import Work
from beam_agents.intents.outcome import Outcome

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

# An agent of ours sets deadlines 30 days ahead at most; a day more for clocks that differ.
_MOST_DISTANT_MS = 31 * 86_400_000


class Refusal(Enum):
    """Why an intent is answered without a claim."""

    EXPIRED = "expired"
    TOO_DISTANT = "too_distant"


class Refusals:
    """Decides refusals without the store, and answers them with its agreement.

    Args:
        store: Asked whether there is a result or a live claim already.
        results: Builds the answers.
        topic: Takes an EXPIRED at once where the store is silent.
        alarms: Bound the wait for the store.
        clock: Judges deadlines.
        call_timeout_ms: That bound.
    """

    def __init__(
        self,
        *,
        store: DedupStore,
        results: Results,
        topic: ResultsTopic,
        alarms: Alarms,
        clock: Clock,
        call_timeout_ms: int,
    ) -> None:
        self._store = store
        self._results = results
        self._topic = topic
        self._alarms = alarms
        self._clock = clock
        self._call_timeout_ms = call_timeout_ms

    def judge(self, work: Work) -> Refusal | None:
        """Say whether the intent must not be claimed; zero and negative deadlines are past."""
        left_ms = work.expires_at_ms - self._clock.now_ms()
        if left_ms <= 0:
            return Refusal.EXPIRED
        return Refusal.TOO_DISTANT if left_ms > _MOST_DISTANT_MS else None

    async def record(self, work: Work, refusal: Refusal) -> Step:
        """Agree on the answer; a result that is stored already wins over a refusal."""
        try:
            answer = await self._bounded(
                self._store.record_refusal(
                    work.intent_id,
                    work.fingerprint,
                    if_never_claimed=self._answer(work, refusal, Outcome.NOT_APPLIED),
                    if_claimed=self._answer(work, refusal, Outcome.UNKNOWN),
                    expires_at_ms=work.expires_at_ms,
                )
            )
        except STORE_SILENT as error:
            _log.warning(
                "the refusal is not recorded: %s",
                error,
                extra=work.log_fields(Phase.REFUSE_EXPIRED),
            )
            if refusal is Refusal.EXPIRED:
                await self._publish_unrecorded(work)
            return SILENCE
        return self._step(work, answer)

    def conflict(self, work: Work) -> Agreed:
        """Answer an intent whose id stands for another request."""
        if self._clock.now_ms() >= work.expires_at_ms + DEADLINE_GRACE_MS:
            # Its own record may have ended, so the other may be its successor.
            return Agreed(self._results.expired(work, Outcome.UNKNOWN), stored=False)
        return Agreed(self._results.conflict(work), stored=False)

    def _step(self, work: Work, answer: RefusalAnswer) -> Step:
        match answer:
            case Stored(result) | Completed(result):
                return Agreed(result)
            case Busy(retry_after_ms):
                return busy(retry_after_ms)
            case Conflict():
                return self.conflict(work)

    async def _publish_unrecorded(self, work: Work) -> None:
        """Tell the agent in time; lane and commit wait until the store has answered."""
        if work.premature is None:
            work.premature = self._answer(work, Refusal.EXPIRED, Outcome.UNKNOWN)
            # One that the topic refuses is dealt with once it is agreed on.
            with suppress(RecordTooLarge):
                await self._topic.publish(work.entity_key, work.premature)

    def _answer(self, work: Work, refusal: Refusal, outcome: Outcome) -> bytes:
        if refusal is Refusal.EXPIRED:
            return self._results.expired(work, outcome)
        return self._results.too_distant(work, outcome)

    async def _bounded(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        call = asyncio.ensure_future(coroutine)
        try:
            await self._alarms.reaching(call, self._call_timeout_ms)
            if not call.done():
                raise TimeoutError(f"no answer within {self._call_timeout_ms} ms")
            return call.result()
        finally:
            call.cancel()
