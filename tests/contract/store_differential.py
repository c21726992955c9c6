"""Generated sequences of store calls, on which two stores must agree at every step.

The stores that judge by `dedup.py` and the one that judges in Lua are held
together by this, and not by reading.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from beam_agents.effector.ports import DEADLINE_GRACE_MS, Claim
from beam_agents.effector.testing.store_bench import RESULT_TTL_MS, StoreBench

# Few of each, so that calls meet; times at and beside the points where answers change.
_INTENTS = ("i", "j")
_FINGERPRINTS = (b"f" * 32, b"g" * 32)
_TOKENS = ("a", "b", "c")
_RESULTS = (b"", b"\x00one", b"two\xff")
_LEASES_MS = (1, 1_000, 30_000, 3 * RESULT_TTL_MS)
_DEADLINES_MS = (-(2**63), 0, 1_000, 60_000, 5 * RESULT_TTL_MS, 2**63 - 1)
_STEPS_MS = (1, 999, 1_000, 30_000, DEADLINE_GRACE_MS - 1, DEADLINE_GRACE_MS, RESULT_TTL_MS)


class Step(ABC):
    """One thing that happens to a store."""

    @abstractmethod
    async def happen(self, bench: StoreBench, start_ms: int) -> object:
        """Do it, and return what was answered."""


@dataclass(frozen=True)
class ClaimStep(Step):
    intent: str
    fingerprint: bytes
    token: str
    lease_ms: int
    deadline: int

    async def happen(self, bench: StoreBench, start_ms: int) -> object:
        return await bench.store.claim(
            self.intent,
            self.fingerprint,
            self.token,
            lease_ms=self.lease_ms,
            expires_at_ms=_at(start_ms, self.deadline),
        )


@dataclass(frozen=True)
class MarkStep(Step):
    claim: Claim

    async def happen(self, bench: StoreBench, start_ms: int) -> object:
        return await bench.store.mark_invoked(self.claim)


@dataclass(frozen=True)
class RenewStep(Step):
    claims: list[Claim]
    lease_ms: int

    async def happen(self, bench: StoreBench, start_ms: int) -> object:
        return await bench.store.renew(self.claims, lease_ms=self.lease_ms)


@dataclass(frozen=True)
class CompleteStep(Step):
    claim: Claim
    fingerprint: bytes
    result: bytes
    deadline: int

    async def happen(self, bench: StoreBench, start_ms: int) -> object:
        return await bench.store.complete(
            self.claim,
            self.fingerprint,
            self.result,
            expires_at_ms=_at(start_ms, self.deadline),
        )


@dataclass(frozen=True)
class RefuseStep(Step):
    intent: str
    fingerprint: bytes
    deadline: int

    async def happen(self, bench: StoreBench, start_ms: int) -> object:
        return await bench.store.record_refusal(
            self.intent,
            self.fingerprint,
            if_never_claimed=b"never claimed",
            if_claimed=b"claimed",
            expires_at_ms=_at(start_ms, self.deadline),
        )


@dataclass(frozen=True)
class ReleaseStep(Step):
    claim: Claim

    async def happen(self, bench: StoreBench, start_ms: int) -> object:
        return await bench.store.release(self.claim)


@dataclass(frozen=True)
class RedeemStep(Step):
    grant: str
    intent: str
    keep_until: int

    async def happen(self, bench: StoreBench, start_ms: int) -> object:
        return await bench.store.redeem(
            self.grant, self.intent, keep_until_ms=_at(start_ms, self.keep_until)
        )


@dataclass(frozen=True)
class AdvanceStep(Step):
    ms: int

    async def happen(self, bench: StoreBench, start_ms: int) -> object:
        await bench.advance(self.ms)
        return None


@dataclass(frozen=True)
class FlushStep(Step):
    async def happen(self, bench: StoreBench, start_ms: int) -> object:
        await bench.lose_records()
        return None


_intents = st.sampled_from(_INTENTS)
_fingerprints = st.sampled_from((_FINGERPRINTS[0], *_FINGERPRINTS))  # mostly the same one
_leases = st.sampled_from(_LEASES_MS)
_deadlines = st.sampled_from(_DEADLINES_MS)
_claims = st.builds(Claim, _intents, st.sampled_from(_TOKENS), st.integers(1, 3))
_claim_steps = st.builds(
    ClaimStep, _intents, _fingerprints, st.sampled_from(_TOKENS), _leases, _deadlines
)

step_sequences: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        _claim_steps,
        _claim_steps,
        st.builds(MarkStep, _claims),
        st.builds(RenewStep, st.lists(_claims, max_size=3), _leases),
        st.builds(CompleteStep, _claims, _fingerprints, st.sampled_from(_RESULTS), _deadlines),
        st.builds(RefuseStep, _intents, _fingerprints, _deadlines),
        st.builds(ReleaseStep, _claims),
        st.builds(RedeemStep, st.sampled_from(("i", "g")), _intents, _deadlines),
        st.builds(AdvanceStep, st.sampled_from(_STEPS_MS)),
        st.builds(AdvanceStep, st.sampled_from(_STEPS_MS)),
        st.builds(FlushStep),
    ),
    max_size=40,
)


async def agree(reference: StoreBench, subject: StoreBench, steps: Sequence[Step]) -> None:
    """Let the same happen to both, and compare every answer and every record."""
    await reference.start()
    await subject.start()
    start_ms = await reference.now_ms()
    for number, step in enumerate(steps):
        expected = await step.happen(reference, start_ms)
        answered = await step.happen(subject, start_ms)
        assert answered == expected, f"step {number}, {step}"
        for intent in _INTENTS:
            kept = await subject.store.lookup(intent)
            assert kept == await reference.store.lookup(intent), f"after step {number}, {step}"


def _at(start_ms: int, offset_ms: int) -> int:
    return max(-(2**63), min(start_ms + offset_ms, 2**63 - 1))
