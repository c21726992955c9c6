"""Requests to a person, and the grants that come of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from beam_agents._protos import AgentEnvelope, ToolIntent
from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.errors import OperatorError
from beam_agents.effector.phase import Phase
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.intents import Keyring, Outcome, Signer, Status
from beam_agents.intents.fingerprint import grant_digest
from beam_agents.intents.identity import intent_id_for
from beam_agents.tools import ToolRegistry, tool
from tests.unit.effector.flaky_store import FlakyStore
from tests.unit.effector.requests import LEASE_MS, NOW_MS, request

APPROVERS = Keyring.parse("alice=" + "QUJD" * 11)
STRANGERS = Keyring.parse("alice=" + "REVG" * 11)
AGENTS = Keyring.parse("agent=" + "R0hJ" * 11)

ARGS = {"amount": 5_000}


@tool(side_effect=True, requires_approval=lambda amount: amount > 100)
async def charge(amount: int) -> int:
    return amount


TOOLS = ToolRegistry(charge)
Approval = AgentEnvelope.Approval


def ask() -> ToolIntent:
    return request(args=ARGS, kind=ToolIntent.APPROVAL, summary="charge 50.00?")


def grant(signer: Signer | None = None, **changes: object) -> AgentEnvelope.Approval:
    """Allow the request `ask`, for the intent that follows it."""
    approval = Approval(
        intent_id=ask().intent_id,
        approved=True,
        approver="alice",
        decided_at_ms=NOW_MS,
        expires_at_ms=NOW_MS + 600_000,
        args_digest=grant_digest(
            namespace="",
            entity_key=b"acct-1",
            tool_name="charge",
            args_json=ask().args_json,
        ),
    )
    for name, value in changes.items():
        setattr(approval, name, value)
    (signer or Signer(APPROVERS, "alice")).sign(approval)
    return approval


def granted(approval: AgentEnvelope.Approval | None = None, *, step_index: int = 1) -> ToolIntent:
    return request(args=ARGS, step_index=step_index, approval=approval or grant())


class TestRequests:
    async def test_a_request_is_published_as_received_and_has_no_result(self) -> None:
        received = ask().SerializeToString() + b"\xf2\x7f\x03new"  # a field that we do not know
        async with EffectorHarness(TOOLS, approval_keys=APPROVERS) as effector:
            await effector.deliver(received, key=b"acct-1")
            await effector.settle()
            (record,) = effector.approvals
            assert (record.key, record.value) == (b"acct-1", received)
            assert record.headers == (("beam-agents-type", b"ToolIntent"),)
            assert effector.results == []
            assert effector.committed() == 1

    async def test_a_redelivery_does_not_notify_twice(self) -> None:
        async with EffectorHarness(TOOLS, approval_keys=APPROVERS) as effector:
            for _ in range(3):
                await effector.deliver(ask())
                await effector.settle()
            assert len(effector.approvals) == 1
            assert effector.committed() == 3

    async def test_an_expired_request_is_refused_like_any_other(self) -> None:
        intent = ask()
        intent.expires_at_ms = NOW_MS
        async with EffectorHarness(TOOLS, approval_keys=APPROVERS) as effector:
            await effector.deliver(intent)
            await effector.settle()
            assert effector.approvals == []
            assert [result.status for result in effector.results] == [Status.EXPIRED]

    @pytest.mark.parametrize("before", [True, False])
    @pytest.mark.parametrize("phase", Phase)
    async def test_a_request_survives_a_kill_at_every_boundary(
        self, phase: Phase, before: bool
    ) -> None:
        async with EffectorHarness(TOOLS, approval_keys=APPROVERS) as effector:
            await effector.deliver(ask())
            effector.crash_at(phase, before=before)
            await effector.settle()
            await effector.restart()
            await effector.advance(LEASE_MS + 2_000)
            # Twice at most, and only where the first was not recorded.
            assert 1 <= len(effector.approvals) <= 2
            assert len({record.value for record in effector.approvals}) == 1
            assert effector.committed() == 1

    async def test_a_worker_whose_claim_was_lost_publishes_nothing(self) -> None:
        clock = SteppedClock()
        store = FlakyStore(clock=clock)
        store.silent = frozenset({"renew"})
        async with EffectorHarness(
            TOOLS, approval_keys=APPROVERS, store=store, clock=clock
        ) as effector:
            await effector.deliver(ask())
            await effector.advance(5_000)
            assert effector.approvals == []
            store.silent = frozenset()
            await effector.advance(2_000)
            assert len(effector.approvals) == 1


class TestGrants:
    async def outcome(self, *intents: ToolIntent) -> list[Status]:
        async with EffectorHarness(TOOLS, approval_keys=APPROVERS) as effector:
            for intent in intents:
                await effector.deliver(intent)
            await effector.settle()
            ran = sum(result.status == Status.OK for result in effector.results)
            assert effector.calls("charge") == ran
            return [result.status for result in effector.results]

    async def test_a_grant_lets_its_intent_run(self) -> None:
        assert await self.outcome(granted()) == [Status.OK]

    async def test_arguments_below_the_rule_need_no_grant(self) -> None:
        assert await self.outcome(request(args={"amount": 5})) == [Status.OK]

    @pytest.mark.parametrize(
        "forge",
        [
            pytest.param(lambda: grant(approved=False), id="a denial"),
            pytest.param(lambda: grant(intent_id=""), id="for no request"),
            pytest.param(lambda: grant(expires_at_ms=NOW_MS), id="expired"),
            pytest.param(lambda: grant(expires_at_ms=0), id="without an expiry"),
            pytest.param(lambda: grant(namespace="other"), id="of another namespace"),
            pytest.param(lambda: grant(args_digest=b""), id="for no arguments"),
            pytest.param(lambda: grant(args_digest=b"\x01" * 32), id="for other arguments"),
            pytest.param(lambda: grant(Signer(STRANGERS, "alice")), id="signed by a stranger"),
            pytest.param(lambda: edited(grant()), id="edited after it was signed"),
            pytest.param(lambda: unsigned(grant()), id="with its signature removed"),
        ],
    )
    async def test_a_grant_that_does_not_hold_is_rejected(
        self, forge: Callable[[], AgentEnvelope.Approval]
    ) -> None:
        assert await self.outcome(granted(forge())) == [Status.REJECTED]

    async def test_an_intent_without_a_grant_is_rejected(self) -> None:
        async with EffectorHarness(TOOLS, approval_keys=APPROVERS) as effector:
            await effector.deliver(request(args=ARGS))
            await effector.settle()
            (result,) = effector.results
            assert (result.status, result.outcome) == (Status.REJECTED, Outcome.NOT_APPLIED)
            assert "requires an approval" in result.error_message

    async def test_a_grant_for_one_key_does_not_serve_another(self) -> None:
        other = request(args=ARGS, key=b"acct-2", approval=grant())
        assert await self.outcome(other) == [Status.REJECTED]

    async def test_a_grant_serves_one_intent(self) -> None:
        second = granted(step_index=2)
        assert await self.outcome(granted(), second) == [Status.OK, Status.REJECTED]

    async def test_two_decisions_on_one_request_are_one_grant(self) -> None:
        again = granted(grant(approver="bob"), step_index=2)
        assert await self.outcome(granted(), again) == [Status.OK, Status.REJECTED]

    async def test_a_redelivery_of_the_intent_is_not_a_second_use(self) -> None:
        async with EffectorHarness(TOOLS, approval_keys=APPROVERS) as effector:
            await effector.deliver(granted())
            effector.crash_at(Phase.COMPLETE)
            await effector.settle()
            await effector.restart()
            await effector.advance(LEASE_MS + 2_000)
            assert [result.status for result in effector.results] == [Status.OK]

    async def test_a_grant_in_a_verified_intent_needs_no_signature_of_its_own(self) -> None:
        intent = granted(unsigned(grant()))
        Signer(AGENTS, "agent").sign(intent)
        async with EffectorHarness(
            TOOLS, verify_intents="require", signing_keys=AGENTS
        ) as effector:
            await effector.deliver(intent)
            await effector.settle()
            assert [result.status for result in effector.results] == [Status.OK]

    @pytest.mark.parametrize("later_ms", [600_000, -600_000], ids=["grant", "intent"])
    async def test_the_use_of_a_grant_is_kept_beyond_the_later_of_both_deadlines(
        self, later_ms: int
    ) -> None:
        kept_until: list[int] = []

        class Noting(MemoryStore):
            async def redeem(self, grant_id: str, intent_id: str, *, keep_until_ms: int) -> bool:
                kept_until.append(keep_until_ms)
                return await super().redeem(grant_id, intent_id, keep_until_ms=keep_until_ms)

        clock = SteppedClock()
        intent = granted()
        intent.approval.CopyFrom(grant(expires_at_ms=intent.expires_at_ms + later_ms))
        async with EffectorHarness(
            TOOLS, approval_keys=APPROVERS, store=Noting(clock=clock), clock=clock
        ) as effector:
            await effector.deliver(intent)
            await effector.settle()
            assert [result.status for result in effector.results] == [Status.OK]
        assert kept_until == [intent.expires_at_ms + max(later_ms, 0) + 600_000]

    @pytest.mark.parametrize("mode", ["off", "permissive"])
    async def test_tools_that_need_grants_are_not_served_where_anybody_could_write_one(
        self, mode: str
    ) -> None:
        with pytest.raises(OperatorError, match="'charge' requires an approval"):
            await EffectorHarness(TOOLS, verify_intents=mode, signing_keys=AGENTS).__aenter__()


def edited(approval: AgentEnvelope.Approval) -> AgentEnvelope.Approval:
    approval.expires_at_ms += 1
    return approval


def unsigned(approval: AgentEnvelope.Approval) -> AgentEnvelope.Approval:
    for name in ("signature_scheme", "signing_key_id", "signature"):
        approval.ClearField(name)
    return approval


def test_the_request_and_what_follows_it_are_two_intents() -> None:
    assert granted().intent_id == intent_id_for(b"acct-1", 0, 1) != ask().intent_id
