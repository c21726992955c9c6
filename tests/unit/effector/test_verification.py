"""Who may drive anything."""

from __future__ import annotations

import pytest

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.effector.probe import Probe
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.effector.verification import Verification
from beam_agents.intents import Keyring, Signer, Status, verify
from beam_agents.intents.signing import Verified
from tests.unit.effector.requests import Gate, request

OLD = "old=" + "QUJD" * 11
NEW = "new=" + "REVG" * 11
FORGED = "old=" + "R0hJ" * 11


@pytest.fixture
def gate() -> Gate:
    gate = Gate()
    gate.open()
    return gate


def signed(keys: str, key_id: str, *, seq: int = 0) -> ToolIntent:
    intent = request(seq=seq)
    Signer(Keyring.parse(keys), key_id).sign(intent)
    return intent


@pytest.mark.parametrize("mode", ["permissive", "require"])
@pytest.mark.parametrize(
    ("intent", "reason"),
    [(signed(FORGED, "old"), "forged"), (signed(NEW, "new"), "unknown_key")],
    ids=["forged", "unknown key"],
)
async def test_a_bad_signature_drives_nothing(
    gate: Gate, mode: str, intent: ToolIntent, reason: str
) -> None:
    async with EffectorHarness(
        gate.registry, verify_intents=mode, signing_keys=Keyring.parse(OLD)
    ) as effector:
        await effector.deliver(intent)
        await effector.settle()
        assert [letter.reason for letter in effector.dead_letters] == [reason]
        assert effector.results == []
        assert effector.calls("charge") == 0
        assert effector.committed() == 1


@pytest.mark.parametrize(
    ("mode", "runs"), [("off", True), ("permissive", True), ("require", False)]
)
async def test_an_unsigned_intent_runs_unless_signatures_are_required(
    gate: Gate, mode: str, runs: bool
) -> None:
    async with EffectorHarness(
        gate.registry, verify_intents=mode, signing_keys=Keyring.parse(OLD)
    ) as effector:
        await effector.deliver(request())
        await effector.settle()
        assert effector.calls("charge") == runs
        assert [letter.reason for letter in effector.dead_letters] == ([] if runs else ["unsigned"])


async def test_not_even_an_expired_intent_is_answered_unless_it_is_authentic(gate: Gate) -> None:
    async with EffectorHarness(
        gate.registry, verify_intents="require", signing_keys=Keyring.parse(OLD)
    ) as effector:
        await effector.deliver(request(ttl_ms=0))
        await effector.settle()
        assert effector.results == []


async def test_both_keys_count_while_they_are_rotated(gate: Gate) -> None:
    async with EffectorHarness(
        gate.registry, verify_intents="require", signing_keys=Keyring.parse(f"{OLD}\n{NEW}")
    ) as effector:
        await effector.deliver(signed(OLD, "old", seq=0))
        await effector.deliver(signed(NEW, "new", seq=1))
        await effector.settle()
        assert [result.status for result in effector.results] == [Status.OK] * 2


async def test_what_was_signed_with_a_retired_key_is_dead_lettered_whole(gate: Gate) -> None:
    async with EffectorHarness(
        gate.registry, verify_intents="require", signing_keys=Keyring.parse(NEW)
    ) as effector:
        intent = signed(OLD, "old")
        await effector.deliver(intent)
        await effector.settle()
        (letter,) = effector.dead_letters
        assert letter.value == intent.SerializeToString()


async def test_results_of_every_kind_are_signed(gate: Gate) -> None:
    keys = Keyring.parse(OLD)
    async with EffectorHarness(gate.registry, signing_keys=keys, sign_results="old") as effector:
        await effector.deliver(request())
        await effector.deliver(request(args={"n": 5}))  # a conflict
        await effector.deliver(request("nobody", seq=1))
        await effector.deliver(request(seq=2, ttl_ms=0))
        await effector.settle()
        assert len(effector.results) == 4
        for record in effector.result_records:
            result = ToolResult.FromString(record.value or b"")
            assert isinstance(verify(result, keys), Verified)


def test_verification_without_keys_is_refused_and_not_skipped() -> None:
    with pytest.raises(ValueError, match="needs keys"):
        Verification("require", None, Probe())
