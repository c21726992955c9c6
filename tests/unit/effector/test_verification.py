"""Who may drive anything."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

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


def _write(path: Path, text: str, *, at_ns: int) -> None:
    path.write_text(text)
    os.utime(path, ns=(at_ns, at_ns))


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


async def test_keys_are_rotated_under_a_running_worker_without_a_lost_message(
    gate: Gate, tmp_path: Path
) -> None:
    ring = tmp_path / "keys"
    both = f"{OLD}\n{NEW}\n"
    _write(ring, OLD, at_ns=1)
    keys = Keyring.load(f"file:{ring}")
    async with EffectorHarness(
        gate.registry, verify_intents="require", signing_keys=keys
    ) as effector:
        await effector.deliver(signed(OLD, "old", seq=0))
        await effector.settle()
        _write(ring, both, at_ns=2)  # before anybody signs with the new one
        for seq, key_id in enumerate(("new", "old", "new"), start=1):
            await effector.deliver(signed(both, key_id, seq=seq))
        await effector.settle()
        _write(ring, NEW, at_ns=3)  # once nothing signed with the old one is on its way
        await effector.deliver(signed(NEW, "new", seq=4))
        await effector.deliver(signed(OLD, "old", seq=5))
        await effector.settle()

        assert [result.seq for result in effector.results] == [0, 1, 2, 3, 4]
        assert [letter.reason for letter in effector.dead_letters] == ["unknown_key"]


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


class TestEd25519:
    """A worker that verifies need not be able to sign."""

    AGENT = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
    STRANGER = Ed25519PrivateKey.from_private_bytes(b"\x02" * 32)

    def private(self, key: Ed25519PrivateKey) -> Keyring:
        return Keyring.parse(f"agent=ed25519-private:{b64encode(key.private_bytes_raw()).decode()}")

    def public(self) -> Keyring:
        raw = self.AGENT.public_key().public_bytes_raw()
        return Keyring.parse(f"agent=ed25519-public:{b64encode(raw).decode()}")

    def signed(self, key: Ed25519PrivateKey) -> ToolIntent:
        intent = request()
        Signer(self.private(key), "agent").sign(intent)
        return intent

    async def reasons(self, gate: Gate, intent: ToolIntent) -> list[str]:
        async with EffectorHarness(
            gate.registry, verify_intents="require", signing_keys=self.public()
        ) as effector:
            await effector.deliver(intent)
            await effector.settle()
            assert len(effector.results) == effector.calls("charge")
            return [letter.reason for letter in effector.dead_letters] or ["ran"]

    async def test_what_the_agent_signed_runs(self, gate: Gate) -> None:
        assert await self.reasons(gate, self.signed(self.AGENT)) == ["ran"]

    async def test_what_a_stranger_signed_drives_nothing(self, gate: Gate) -> None:
        assert await self.reasons(gate, self.signed(self.STRANGER)) == ["forged"]

    async def test_what_was_edited_drives_nothing(self, gate: Gate) -> None:
        intent = self.signed(self.AGENT)
        intent.args_json = '{"n":7}'
        assert await self.reasons(gate, intent) == ["forged"]

    async def test_the_public_key_is_no_shared_secret(self, gate: Gate) -> None:
        raw = self.AGENT.public_key().public_bytes_raw()
        intent = request()
        Signer(Keyring.parse(f"agent={b64encode(raw).decode()}"), "agent").sign(intent)
        assert await self.reasons(gate, intent) == ["forged"]

    async def test_results_are_signed_with_it(self, gate: Gate) -> None:
        keys = self.private(self.AGENT)
        async with EffectorHarness(
            gate.registry, signing_keys=keys, sign_results="agent"
        ) as effector:
            await effector.deliver(request())
            await effector.settle()
            [result] = effector.results
            assert isinstance(verify(result, self.public()), Verified)
