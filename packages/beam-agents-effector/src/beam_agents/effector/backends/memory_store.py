"""`memory://`: the reference dedup store. Its records end with the process."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TypeVar

from beam_agents.effector import dedup
from beam_agents.effector.backends.transacted_rules import TransactedRules
from beam_agents.effector.clock import SystemClock
from beam_agents.effector.dedup import (
    RESULT_TTL_MS,
    GrantRecord,
    GrantRule,
    Rule,
    UnreadableRecord,
    live,
)
from beam_agents.effector.ports import Claim, ClaimAnswer, Clock, CompleteAnswer, DedupRecord

_A = TypeVar("_A")


class MemoryStore(TransactedRules):
    """Keeps records in a dict. Calls never interleave, since none awaits anything.

    The two calls of every intent take a shorter way to their rules than the others.

    Args:
        result_ttl_ms: How long a record is kept, counted from its last claim or result.
        clock: The store's clock; leases and retention are judged by it.
    """

    def __init__(self, *, result_ttl_ms: int = RESULT_TTL_MS, clock: Clock | None = None) -> None:
        super().__init__(result_ttl_ms)
        self._clock = clock or SystemClock()
        self._records: dict[str, DedupRecord] = {}
        self._grants: dict[str, GrantRecord] = {}
        # When to look whether a record has ended, so that those of months do not pile up.
        self._ends: list[tuple[int, str]] = []

    async def open(self) -> None:
        """Nothing to connect to."""

    async def aclose(self) -> None:
        """Nothing to close. Records stay, for another worker of this process."""

    async def now_ms(self) -> int:
        """Read the store's clock."""
        return self._clock.now_ms()

    async def lookup(self, intent_id: str) -> DedupRecord | None:
        """Read a record. Changes nothing."""
        return live(self._records.get(intent_id), self._clock.now_ms())

    async def claim(
        self, intent_id: str, fingerprint: bytes, token: str, *, lease_ms: int, expires_at_ms: int
    ) -> ClaimAnswer:
        """Ask for the intent."""
        now_ms = self._clock.now_ms()
        record, answer = dedup.claim(
            self._read(intent_id, now_ms),
            now_ms,
            intent_id,
            fingerprint,
            token,
            lease_ms=lease_ms,
            expires_at_ms=expires_at_ms,
            result_ttl_ms=self.result_ttl_ms,
        )
        self._keep(intent_id, record)
        return answer

    async def complete(
        self, claim: Claim, fingerprint: bytes, result: bytes, *, expires_at_ms: int
    ) -> CompleteAnswer:
        """Store the terminal result, if the claim still holds."""
        now_ms = self._clock.now_ms()
        record, answer = dedup.complete(
            self._read(claim.intent_id, now_ms),
            now_ms,
            claim,
            fingerprint,
            result,
            expires_at_ms=expires_at_ms,
            result_ttl_ms=self.result_ttl_ms,
        )
        self._keep(claim.intent_id, record)
        return answer

    async def _judge(
        self, intent_ids: Sequence[str], rules: Sequence[Rule[_A]]
    ) -> list[_A | UnreadableRecord]:
        return [self._apply(*each) for each in zip(intent_ids, rules, strict=True)]

    def _apply(self, intent_id: str, rule: Rule[_A]) -> _A:
        now_ms = self._clock.now_ms()
        record, answer = rule(self._read(intent_id, now_ms), now_ms)
        self._keep(intent_id, record)
        return answer

    def _read(self, intent_id: str, now_ms: int) -> DedupRecord | None:
        if self._ends and self._ends[0][0] <= now_ms:
            self._forget_ended(now_ms)
        return self._records.get(intent_id)

    def _keep(self, intent_id: str, record: DedupRecord | None) -> None:
        if record is not None:
            if intent_id not in self._records:
                heapq.heappush(self._ends, (record.keep_until_ms, intent_id))
            self._records[intent_id] = record

    async def _judge_grant(self, grant_id: str, rule: GrantRule) -> bool:
        now_ms = self._clock.now_ms()
        self._grants = {
            key: grant for key, grant in self._grants.items() if now_ms < grant.keep_until_ms
        }
        grant, answer = rule(self._grants.get(grant_id), now_ms)
        if grant is not None:
            self._grants[grant_id] = grant
        return answer

    def _forget_ended(self, now_ms: int) -> None:
        while self._ends and self._ends[0][0] <= now_ms:
            _, intent_id = heapq.heappop(self._ends)
            record = self._records[intent_id]
            if live(record, now_ms) is None:
                del self._records[intent_id]
            else:  # its end was raised since
                heapq.heappush(self._ends, (record.keep_until_ms, intent_id))
