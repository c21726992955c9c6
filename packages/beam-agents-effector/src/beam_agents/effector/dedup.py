"""The rules of the dedup protocol: pure functions of one record, a request and the time.

Each takes the record of an intent (None: there is none) and the store's clock,
and returns the record to keep and the answer to give. A store reads, judges and
writes in one transaction, so two workers never judge the same state. `memory`
and `sqlite` call these functions; `redis_store.lua` says the same in Lua, and a
differential test holds the two together.

The rules were model-checked. Those marked *counterexample* look dispensable and
are not: each was found missing by a trace in which an effect happened twice or
two results were published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from beam_agents.effector.ports import (
    DEADLINE_GRACE_MS,
    Busy,
    Claim,
    ClaimAnswer,
    Claimed,
    ClaimLost,
    CompleteAnswer,
    Completed,
    Conflict,
    DedupRecord,
    Expired,
    RefusalAnswer,
    Stored,
    StoreUnavailable,
    Superseded,
)

RECORD_VERSION = 1
RESULT_TTL_MS = 86_400_000

# Times saturate here: the largest that every backend holds exactly (Lua counts in doubles).
FOREVER_MS = 2**53 - 1

_A = TypeVar("_A")
Rule: TypeAlias = Callable[[DedupRecord | None, int], tuple[DedupRecord | None, _A]]


class UnreadableRecord(StoreUnavailable):
    """A newer release wrote the record; guessing at its meaning could run a tool twice."""

    def __init__(self, key: str, version: int) -> None:
        super().__init__(
            f"the dedup record {key!r} has version {version}, and this release reads version "
            f"{RECORD_VERSION}: upgrade this worker"
        )


@dataclass(frozen=True, slots=True)
class GrantRecord:
    """Which intent used an approval grant, kept until `keep_until_ms`."""

    intent_id: str
    keep_until_ms: int


GrantRule: TypeAlias = Callable[[GrantRecord | None, int], tuple[GrantRecord | None, bool]]


# --- time --------------------------------------------------------------------------------------


def clamp_ms(time_ms: int) -> int:
    """Bring a time that came over the wire into the range that every backend holds exactly."""
    if -FOREVER_MS <= time_ms <= FOREVER_MS:
        return time_ms
    return FOREVER_MS if time_ms > 0 else -FOREVER_MS


def live(record: DedupRecord | None, now_ms: int) -> DedupRecord | None:
    """Judge at read time whether the record still counts.

    Garbage collection may come hours late; a record that only some readers still
    saw would be judged differently by each (B69).
    """
    return record if record is not None and now_ms < record.keep_until_ms else None


def _may_be_forgotten(now_ms: int, expires_at_ms: int) -> bool:
    """Whether a record of a copy with this deadline may have ended by now.

    No record ends before this, so until then an absent record means: never claimed.
    """
    return now_ms >= clamp_ms(expires_at_ms) + DEADLINE_GRACE_MS


def _end_ms(record: DedupRecord, now_ms: int, *, expires_at_ms: int, result_ttl_ms: int) -> int:
    """Raise the record's end for a copy with this deadline; never lower it.

    So that a redelivery of the same bytes finds either the record or a passed
    deadline, the record outlives both the result TTL and the copy's deadline.
    """
    until_ms = clamp_ms(max(now_ms + result_ttl_ms, clamp_ms(expires_at_ms) + DEADLINE_GRACE_MS))
    return max(record.keep_until_ms, until_ms)


def _kept(record: DedupRecord, end_ms: int) -> DedupRecord:
    return record if record.keep_until_ms == end_ms else record._replace(keep_until_ms=end_ms)


def _leased(
    record: DedupRecord, attempt: int, token: str, until_ms: int, end_ms: int
) -> DedupRecord:
    """Extend the lease. Never shorten it: its owner counts on the longest that it was promised.

    The record outlives its lease, so that attempts are counted and late finishers judged.
    """
    until_ms = max(record.lease_until_ms, until_ms)
    # In full, as `_replace` takes several times as long, and this is for every intent.
    return DedupRecord(
        record.fingerprint,
        attempt,
        token,
        until_ms,
        record.invoked,
        record.result,
        max(end_ms, until_ms),
    )


# --- ownership ---------------------------------------------------------------------------------


def require_token(token: str) -> None:
    """Refuse an empty token: it stands for a record that nobody owns."""
    if not token:
        raise ValueError("a claim needs a token of its own, which is not empty")


def _owns(record: DedupRecord | None, claim: Claim) -> bool:
    """Whether nobody took over. The token counts, too: after a flush, attempts start again at 1."""
    return record is not None and record.token == claim.token and record.attempt == claim.attempt


def _busy(record: DedupRecord, now_ms: int) -> Busy | None:
    """Say how long a live lease lasts; None where anyone may take over."""
    if record.token and record.lease_until_ms > now_ms:
        return Busy(record.lease_until_ms - now_ms)
    return None


def _claimed(intent_id: str, record: DedupRecord) -> Claimed:
    """Hand out the record's attempt. Only *earlier* attempts count as invoked before."""
    claim = Claim(intent_id, record.token, record.attempt)
    invoked = record.invoked
    return Claimed(claim, bool(invoked) and any(attempt < record.attempt for attempt in invoked))


# --- the operations ----------------------------------------------------------------------------


def claim(
    record: DedupRecord | None,
    now_ms: int,
    intent_id: str,
    fingerprint: bytes,
    token: str,
    *,
    lease_ms: int,
    expires_at_ms: int,
    result_ttl_ms: int,
) -> tuple[DedupRecord | None, ClaimAnswer]:
    """Ask for the intent; judged in the order Conflict, Completed, own token, Busy, Expired.

    Every claim on a record raises its end to this copy's own, whatever the answer
    (*counterexample*: a copy with a later deadline, answered Busy, outlived the record).
    """
    require_token(token)
    record = live(record, now_ms)
    if record is None:
        if expires_at_ms <= now_ms:
            return None, Expired(_may_be_forgotten(now_ms, expires_at_ms))
        record = DedupRecord(fingerprint)
    end_ms = _end_ms(record, now_ms, expires_at_ms=expires_at_ms, result_ttl_ms=result_ttl_ms)

    if record.fingerprint != fingerprint:
        # Counterexample: the newcomer's own record may have ended, with a result published,
        # before this other one began. Refusing it as a conflict would contradict that result.
        forgotten = _may_be_forgotten(now_ms, expires_at_ms)
        answer = Expired(True) if forgotten else Conflict(record.fingerprint)
        return _kept(record, end_ms), answer
    if record.result is not None:
        return _kept(record, end_ms), Completed(record.result)
    if record.token == token:
        # The first answer was lost. The same attempt again, even past its lease: nobody took over.
        record = _leased(record, record.attempt, token, now_ms + lease_ms, end_ms)
        return record, _claimed(intent_id, record)
    if busy := _busy(record, now_ms):
        return _kept(record, end_ms), busy
    if expires_at_ms <= now_ms:
        return _kept(record, end_ms), Expired(record_may_be_gone=False)

    # Whoever held it before is fenced off from here on: attempt and token are new.
    record = _leased(record, record.attempt + 1, token, now_ms + lease_ms, end_ms)
    return record, _claimed(intent_id, record)


def mark_invoked(
    record: DedupRecord | None, now_ms: int, claim: Claim
) -> tuple[DedupRecord | None, bool]:
    """Record that the tool is about to be called; idempotent, and False if the claim was lost."""
    record = live(record, now_ms)
    if record is None or not _owns(record, claim) or record.result is not None:
        return record, False
    if claim.attempt not in record.invoked:
        record = record._replace(invoked=(*record.invoked, claim.attempt))
    return record, True


def renew(
    record: DedupRecord | None, now_ms: int, claim: Claim, *, lease_ms: int, result_ttl_ms: int
) -> tuple[DedupRecord | None, bool]:
    """Extend the lease, and with it the record's end; False if the claim was lost.

    Never re-creates an absent record (*counterexample*: after a flush another worker may
    already run the intent and be done; a re-created lease would then block or repeat it).
    """
    record = live(record, now_ms)
    if record is None or not _owns(record, claim):
        return record, False
    if record.result is not None:
        # Our own result, whose acknowledgement is still on its way: not lost, nothing to extend.
        return record, True
    end_ms = max(record.keep_until_ms, min(now_ms + result_ttl_ms, FOREVER_MS))
    return _leased(record, claim.attempt, claim.token, now_ms + lease_ms, end_ms), True


def complete(
    record: DedupRecord | None,
    now_ms: int,
    claim: Claim,
    fingerprint: bytes,
    result: bytes,
    *,
    expires_at_ms: int,
    result_ttl_ms: int,
) -> tuple[DedupRecord | None, CompleteAnswer]:
    """Store the terminal result if nobody took over, though the lease may have ended."""
    record = live(record, now_ms)
    if (record is None or record.fingerprint != fingerprint) and _may_be_forgotten(
        now_ms, expires_at_ms
    ):
        # Counterexample: our record ended, and with it what another worker stored and published
        # meanwhile. From here only refuse-expired, whose answer is the same for everyone, is safe.
        return record, ClaimLost()
    if record is None:
        # The store was flushed. The tool ran, and nobody else did: keep what we know.
        record = DedupRecord(fingerprint, claim.attempt, claim.token)
    if record.fingerprint != fingerprint:
        return record, Conflict(record.fingerprint)

    if not _owns(record, claim):
        # Superseded(None) stays so however often it is asked (*counterexample*: the taker may
        # be dead); only a claim with a new token can find out who is to finish this.
        return record, Superseded(record.result)
    if record.result is not None:
        return record, Stored(record.result)  # our own, whose acknowledgement was lost
    end_ms = _end_ms(record, now_ms, expires_at_ms=expires_at_ms, result_ttl_ms=result_ttl_ms)
    fingerprint, attempt, token, lease_until_ms, invoked, _, _ = record
    ended = DedupRecord(fingerprint, attempt, token, lease_until_ms, invoked, result, end_ms)
    return ended, Stored(result)


def record_refusal(
    record: DedupRecord | None,
    now_ms: int,
    fingerprint: bytes,
    *,
    if_never_claimed: bytes,
    if_claimed: bytes,
    expires_at_ms: int,
    result_ttl_ms: int,
) -> tuple[DedupRecord, RefusalAnswer]:
    """Store a terminal result without a claim; a result or a live claim goes first.

    It carries two variants, of which the record's past chooses (*counterexample*: an answer
    "not applied" for an intent whose earlier attempt may have run).
    """
    record = live(record, now_ms)
    forgotten = _may_be_forgotten(now_ms, expires_at_ms)
    may_have_run = forgotten if record is None else record.attempt > 0
    if record is None:
        record = DedupRecord(fingerprint)
    end_ms = _end_ms(record, now_ms, expires_at_ms=expires_at_ms, result_ttl_ms=result_ttl_ms)
    record = _kept(record, end_ms)

    if record.fingerprint != fingerprint:
        # As in `claim`: once our own record may have ended, its answer is the refusal that
        # admits to it. It cannot be stored, but is the same for everyone.
        return record, Completed(if_claimed) if forgotten else Conflict(record.fingerprint)
    if record.result is not None:
        return record, Completed(record.result)
    if busy := _busy(record, now_ms):
        return record, busy
    chosen = if_claimed if may_have_run else if_never_claimed
    # Without a token: an owner whose lease had ended learns that it was superseded.
    return record._replace(token="", lease_until_ms=0, result=chosen), Stored(chosen)


def release(
    record: DedupRecord | None, now_ms: int, claim: Claim
) -> tuple[DedupRecord | None, bool]:
    """Hand the claim back; only its owner can (B59).

    Clears this attempt's mark only: its tool was not called. The attempt number stays, as a
    fencing token must never be given out twice, and so do older marks, as those tools may
    have run.
    """
    record = live(record, now_ms)
    if record is None or not _owns(record, claim) or record.result is not None:
        return record, False
    others = tuple(attempt for attempt in record.invoked if attempt != claim.attempt)
    return record._replace(token="", lease_until_ms=0, invoked=others), True


def redeem(
    grant: GrantRecord | None, now_ms: int, intent_id: str, *, keep_until_ms: int
) -> tuple[GrantRecord | None, bool]:
    """Use a grant: true for the first intent that asks, and for its repeats.

    Kept until the later of the grant's and the intent's deadline, with the grace that the
    caller adds (*counterexample*: kept for the grant alone, a redelivery found it free again).
    A use that would be forgotten at once is refused: it could be given a second time.
    """
    keep_until_ms = clamp_ms(keep_until_ms)
    if grant is None or now_ms >= grant.keep_until_ms:
        if keep_until_ms <= now_ms:
            return None, False
        return GrantRecord(intent_id, keep_until_ms), True
    if grant.intent_id != intent_id:
        return grant, False
    return replace(grant, keep_until_ms=max(grant.keep_until_ms, keep_until_ms)), True
