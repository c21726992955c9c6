"""What the store contract works on: a store, and the back doors that its tests need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from uuid import uuid4

from beam_agents.effector.ports import (
    Claim,
    ClaimAnswer,
    Claimed,
    CompleteAnswer,
    DedupRecord,
    DedupStore,
    RefusalAnswer,
)

LEASE_MS = 30_000
HOUR_MS = 3_600_000
RESULT_TTL_MS = 24 * HOUR_MS

FINGERPRINT = bytes(range(32))  # with NULs and bytes that are no UTF-8
OTHER_FINGERPRINT = bytes(range(224, 256))

RESULT = b"\x08\x00\xffresult"
OTHER_RESULT = b"other result"
NOT_APPLIED = b"expired, never claimed"
UNKNOWN = b"expired, may have run"


class StoreBench(ABC):
    """One fresh intent on a store that was opened with a result TTL of `RESULT_TTL_MS`.

    Subclasses give the back doors. The calls below fill in what a test does not
    care about: the intent, its fingerprint, and a deadline an hour from the start.

    Attributes:
        store: The store under test.
        intent_id: An intent that the store has never seen.
        deadline_ms: Its deadline, an hour after `start`.
        margin_ms: How much later than its end a lease, a record or a deadline is taken to
            be over: 0 where the store's own clock judges, the allowed skew where workers' do.
    """

    margin_ms = 0

    def __init__(self, store: DedupStore) -> None:
        self.store = store
        self.intent_id = f"intent-{uuid4()}"
        self.deadline_ms = 0

    @abstractmethod
    async def advance(self, ms: int) -> None:
        """Move the store's clock on, for all of its clients."""

    @abstractmethod
    async def another_client(self) -> DedupStore:
        """Open a second client on the same records (for a store in memory: the same object)."""

    @abstractmethod
    async def lose_records(self) -> None:
        """Lose every record, as a flush or a failover does."""

    @abstractmethod
    async def now_ms(self) -> int:
        """Read the clock that leases and retention are judged by."""

    async def start(self) -> None:
        """Open the store, and set the deadline."""
        await self.store.open()
        self.deadline_ms = await self.now_ms() + HOUR_MS

    async def aclose(self) -> None:
        """Close the store."""
        await self.store.aclose()

    async def advance_to(self, at_ms: int) -> None:
        """Move the store's clock on, until a point in time is taken to have come."""
        await self.advance(at_ms + self.margin_ms - await self.now_ms())

    async def let_lease_end(self) -> None:
        """Move the store's clock past a lease that was given now."""
        await self.advance(LEASE_MS + self.margin_ms)

    async def let_record_end(self) -> None:
        """Move the store's clock past the end of a record that was written now."""
        await self.advance(RESULT_TTL_MS + self.margin_ms)

    async def claim(
        self,
        token: str,
        *,
        intent_id: str | None = None,
        fingerprint: bytes = FINGERPRINT,
        lease_ms: int = LEASE_MS,
        expires_at_ms: int | None = None,
    ) -> ClaimAnswer:
        """Claim the intent."""
        return await self.store.claim(
            self.intent_id if intent_id is None else intent_id,
            fingerprint,
            token,
            lease_ms=lease_ms,
            expires_at_ms=self.deadline_ms if expires_at_ms is None else expires_at_ms,
        )

    async def claimed(
        self, token: str, *, intent_id: str | None = None, fingerprint: bytes = FINGERPRINT
    ) -> Claim:
        """Claim the intent, which must succeed."""
        answer = await self.claim(token, intent_id=intent_id, fingerprint=fingerprint)
        assert isinstance(answer, Claimed), answer
        return answer.claim

    async def complete(
        self,
        claim: Claim,
        result: bytes = RESULT,
        *,
        fingerprint: bytes = FINGERPRINT,
        expires_at_ms: int | None = None,
    ) -> CompleteAnswer:
        """Complete the intent."""
        return await self.store.complete(
            claim,
            fingerprint,
            result,
            expires_at_ms=self.deadline_ms if expires_at_ms is None else expires_at_ms,
        )

    async def refuse(
        self, *, fingerprint: bytes = FINGERPRINT, expires_at_ms: int | None = None
    ) -> RefusalAnswer:
        """Record that the intent is refused."""
        return await self.store.record_refusal(
            self.intent_id,
            fingerprint,
            if_never_claimed=NOT_APPLIED,
            if_claimed=UNKNOWN,
            expires_at_ms=self.deadline_ms if expires_at_ms is None else expires_at_ms,
        )

    async def record(self) -> DedupRecord:
        """Look the record up, which must be there."""
        record = await self.store.lookup(self.intent_id)
        assert record is not None
        return record
