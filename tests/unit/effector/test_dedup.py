"""The dedup rules under every sequence of calls that Hypothesis can think of.

Each answer by itself is the store contract's matter; these are the promises
that must hold over all of them.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from beam_agents.effector import dedup
from beam_agents.effector.dedup import FOREVER_MS, UnreadableRecord, clamp_ms
from beam_agents.effector.ports import Claim, Claimed, Completed, DedupRecord, Stored, Superseded

FINGERPRINT = b"f" * 32
TTL_MS = 10_000
START_MS = 1_700_000_000_000

tokens = st.sampled_from("abc")
claims = st.builds(Claim, st.just("i"), tokens, st.integers(1, 4))
results = st.sampled_from([b"", b"one", b"two"])
deadlines = st.sampled_from([-1, 5_000, 700_000]).map(lambda offset: START_MS + offset)


class OneIntent(RuleBasedStateMachine):
    """Workers, live and stale, fight over one intent whose store forgets nothing but by time."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = START_MS
        self.record: DedupRecord | None = None
        self.promised: dict[Claim, int] = {}  # until when each owner may think it owns
        self.agreed: bytes | None = None  # the result that anybody was told

    def _keep(self, record: DedupRecord | None) -> None:
        before, self.record = dedup.live(self.record, self.now_ms), record
        if before is None:  # a new record, or none: earlier promises are over
            self.promised, self.agreed = {}, None
            return
        assert record is not None, "a record that counts is never dropped"
        assert record.keep_until_ms >= before.keep_until_ms
        assert record.attempt >= before.attempt
        assert before.result is None or record.result == before.result

    def _told(self, result: bytes) -> None:
        assert self.agreed in (None, result), "two results were handed out"
        self.agreed = result

    @rule(ms=st.sampled_from([1, 999, 1_000, 5_000, 600_000]))
    def time_passes(self, ms: int) -> None:
        self.now_ms += ms

    @rule(token=tokens, lease_ms=st.sampled_from([1, 1_000, 3_000]), expires_at_ms=deadlines)
    def claim(self, token: str, lease_ms: int, expires_at_ms: int) -> None:
        before = dedup.live(self.record, self.now_ms)
        record, answer = dedup.claim(
            self.record,
            self.now_ms,
            "i",
            FINGERPRINT,
            token,
            lease_ms=lease_ms,
            expires_at_ms=expires_at_ms,
            result_ttl_ms=TTL_MS,
        )
        self._keep(record)
        if isinstance(answer, Claimed):
            others = [claim for claim in self.promised if claim != answer.claim]
            assert all(self.promised[claim] <= self.now_ms for claim in others)
            assert all(claim.attempt != answer.claim.attempt for claim in others)
            assert before is None or before.result is None
            self.promised[answer.claim] = max(
                self.promised.get(answer.claim, 0), self.now_ms + lease_ms
            )
        elif isinstance(answer, Completed):
            self._told(answer.result)

    @rule(claim=claims)
    def renew(self, claim: Claim) -> None:
        record, held = dedup.renew(
            self.record, self.now_ms, claim, lease_ms=1_000, result_ttl_ms=TTL_MS
        )
        self._keep(record)
        if held and record is not None and record.result is None:
            self.promised[claim] = max(self.promised[claim], self.now_ms + 1_000)

    @rule(claim=claims)
    def mark_invoked(self, claim: Claim) -> None:
        record, marked = dedup.mark_invoked(self.record, self.now_ms, claim)
        self._keep(record)
        assert not marked or (record is not None and claim.attempt in record.invoked)

    @rule(claim=claims)
    def release(self, claim: Claim) -> None:
        record, released = dedup.release(self.record, self.now_ms, claim)
        self._keep(record)
        if released:
            del self.promised[claim]  # fails if it was never given

    @rule(claim=claims, result=results, expires_at_ms=deadlines)
    def complete(self, claim: Claim, result: bytes, expires_at_ms: int) -> None:
        before = dedup.live(self.record, self.now_ms)
        record, answer = dedup.complete(
            self.record,
            self.now_ms,
            claim,
            FINGERPRINT,
            result,
            expires_at_ms=expires_at_ms,
            result_ttl_ms=TTL_MS,
        )
        self._keep(record)
        if isinstance(answer, Stored):
            assert before is None or claim in self.promised
            self._told(answer.result)
            self.promised.setdefault(claim, 0)
        elif isinstance(answer, Superseded) and answer.result is not None:
            self._told(answer.result)

    @rule(expires_at_ms=deadlines)
    def record_refusal(self, expires_at_ms: int) -> None:
        before = dedup.live(self.record, self.now_ms)
        record, answer = dedup.record_refusal(
            self.record,
            self.now_ms,
            FINGERPRINT,
            if_never_claimed=b"not applied",
            if_claimed=b"unknown",
            expires_at_ms=expires_at_ms,
            result_ttl_ms=TTL_MS,
        )
        self._keep(record)
        if isinstance(answer, Stored):
            assert all(until_ms <= self.now_ms for until_ms in self.promised.values())
            if answer.result == b"not applied":
                assert before is None, "an attempt may have run"
            self._told(answer.result)
            self.promised.clear()
        elif isinstance(answer, Completed):
            self._told(answer.result)

    @invariant()
    def a_record_outlives_every_lease_that_was_promised(self) -> None:
        if self.record is not None:
            assert self.record.keep_until_ms >= self.record.lease_until_ms
            assert all(
                until_ms <= self.record.lease_until_ms or until_ms <= self.now_ms
                for until_ms in self.promised.values()
            )


TestOneIntent = OneIntent.TestCase
TestOneIntent.settings = settings(max_examples=200, stateful_step_count=40)


def test_times_beyond_what_every_backend_holds_saturate() -> None:
    assert clamp_ms(2**63 - 1) == FOREVER_MS
    assert clamp_ms(-(2**63)) == -FOREVER_MS
    assert clamp_ms(START_MS) == START_MS


def test_a_newer_record_says_what_to_do() -> None:
    assert str(UnreadableRecord("i-1", 7)) == (
        "the dedup record 'i-1' has version 7, and this release reads version 1: "
        "upgrade this worker"
    )


def test_a_use_of_a_grant_that_has_ended_counts_for_nobody_though_it_is_still_there() -> None:
    ended = dedup.GrantRecord("first", 100)

    assert dedup.redeem(ended, 99, "second", keep_until_ms=200) == (ended, False)
    assert dedup.redeem(ended, 100, "second", keep_until_ms=200) == (
        dedup.GrantRecord("second", 200),
        True,
    )
