"""The dedup port for stores that can run a Python rule inside a transaction of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from beam_agents.effector import dedup
from beam_agents.effector.dedup import GrantRule, Rule, UnreadableRecord
from beam_agents.effector.ports import (
    Claim,
    ClaimAnswer,
    CompleteAnswer,
    DedupRecord,
    RefusalAnswer,
)

_A = TypeVar("_A")


class TransactedRules(ABC):
    """Turns each call of `DedupStore` into the rule that judges it; subclasses apply rules.

    Attributes:
        result_ttl_ms: How long a record is kept, counted from its last claim or result.
    """

    def __init__(self, result_ttl_ms: int) -> None:
        self.result_ttl_ms = result_ttl_ms

    @abstractmethod
    async def _judge(
        self, intent_ids: Sequence[str], rules: Sequence[Rule[_A]]
    ) -> list[_A | UnreadableRecord]:
        """Apply each rule to the record of its intent, in one transaction.

        In place of an answer, an `UnreadableRecord` for that intent alone.
        """

    @abstractmethod
    async def _judge_grant(self, grant_id: str, rule: GrantRule) -> bool:
        """Apply the rule to the record of the grant, in one transaction."""

    @abstractmethod
    async def lookup(self, intent_id: str) -> DedupRecord | None:
        """Read a record, for operators. Changes nothing."""

    async def _judge_one(self, intent_id: str, rule: Rule[_A]) -> _A:
        (answer,) = await self._judge((intent_id,), (rule,))
        if isinstance(answer, UnreadableRecord):
            raise answer
        return answer

    async def claim(
        self,
        intent_id: str,
        fingerprint: bytes,
        token: str,
        *,
        lease_ms: int,
        expires_at_ms: int,
    ) -> ClaimAnswer:
        """Ask for the intent."""
        return await self._judge_one(
            intent_id,
            lambda record, now_ms: dedup.claim(
                record,
                now_ms,
                intent_id,
                fingerprint,
                token,
                lease_ms=lease_ms,
                expires_at_ms=expires_at_ms,
                result_ttl_ms=self.result_ttl_ms,
            ),
        )

    async def mark_invoked(self, claim: Claim) -> bool:
        """Record that the tool is about to be called."""
        return await self._judge_one(
            claim.intent_id, lambda record, now_ms: dedup.mark_invoked(record, now_ms, claim)
        )

    async def renew(self, claims: Sequence[Claim], *, lease_ms: int) -> Sequence[Claim]:
        """Extend the leases; return the claims that are lost."""

        def rule_for(claim: Claim) -> Rule[bool]:
            return lambda record, now_ms: dedup.renew(
                record, now_ms, claim, lease_ms=lease_ms, result_ttl_ms=self.result_ttl_ms
            )

        answers = await self._judge(
            [claim.intent_id for claim in claims], [rule_for(claim) for claim in claims]
        )
        # An unreadable record is not the one that we wrote: a newer worker took over.
        return [claim for claim, held in zip(claims, answers, strict=True) if held is not True]

    async def complete(
        self, claim: Claim, fingerprint: bytes, result: bytes, *, expires_at_ms: int
    ) -> CompleteAnswer:
        """Store the terminal result, if the claim still holds."""
        return await self._judge_one(
            claim.intent_id,
            lambda record, now_ms: dedup.complete(
                record,
                now_ms,
                claim,
                fingerprint,
                result,
                expires_at_ms=expires_at_ms,
                result_ttl_ms=self.result_ttl_ms,
            ),
        )

    async def record_refusal(
        self,
        intent_id: str,
        fingerprint: bytes,
        *,
        if_never_claimed: bytes,
        if_claimed: bytes,
        expires_at_ms: int,
    ) -> RefusalAnswer:
        """Store a terminal result without a claim."""
        return await self._judge_one(
            intent_id,
            lambda record, now_ms: dedup.record_refusal(
                record,
                now_ms,
                fingerprint,
                if_never_claimed=if_never_claimed,
                if_claimed=if_claimed,
                expires_at_ms=expires_at_ms,
                result_ttl_ms=self.result_ttl_ms,
            ),
        )

    async def release(self, claim: Claim) -> bool:
        """Hand the claim back before its tool was called."""
        return await self._judge_one(
            claim.intent_id, lambda record, now_ms: dedup.release(record, now_ms, claim)
        )

    async def redeem(self, grant_id: str, intent_id: str, *, keep_until_ms: int) -> bool:
        """Use an approval grant."""
        return await self._judge_grant(
            grant_id,
            lambda grant, now_ms: dedup.redeem(
                grant, now_ms, intent_id, keep_until_ms=keep_until_ms
            ),
        )
