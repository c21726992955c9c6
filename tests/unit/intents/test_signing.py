"""Signatures: the deployed vector, what they cover, and what they do not."""

from __future__ import annotations

import base64
from typing import Any, TypeAlias

import pytest
from google.protobuf.internal.encoder import TagBytes

from beam_agents._protos import ED25519, HMAC_SHA256, AgentEnvelope, ToolIntent, ToolResult
from beam_agents.intents.keyring import Keyring, KeyringError
from beam_agents.intents.signing import (
    Forged,
    NotSignable,
    Signer,
    UnknownKey,
    Unsigned,
    Verified,
    verify,
)

Approval = AgentEnvelope.Approval
Signable: TypeAlias = ToolIntent | ToolResult | Approval


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


HMAC = f"k1={b64(bytes([1]) * 32)}"
# RFC 8032, section 7.1, test 1.
PRIVATE_HEX = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
PUBLIC_HEX = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
PRIVATE = f"ed=ed25519-private:{b64(bytes.fromhex(PRIVATE_HEX))}"
PUBLIC = f"ed=ed25519-public:{b64(bytes.fromhex(PUBLIC_HEX))}"
KEYS = Keyring.parse(f"{HMAC}\n{PRIVATE}")


def refund() -> ToolIntent:
    return ToolIntent(
        intent_id="a5ed04a4-d090-54a1-abf3-9aff777ad8eb",
        entity_key=b"acct-1",
        tool_name="payments.refund",
        args_json='{"amount": 4200}',
        created_at_ms=1000,
        expires_at_ms=61000,
        kind=ToolIntent.TOOL,
    )


MESSAGES: list[Signable] = [
    refund(),
    ToolResult(intent_id="i", entity_key=b"acct-1", status=ToolResult.OK, payload=b"1"),
    Approval(intent_id="i", approved=True, approver="ann", args_digest=b"\1" * 32),
]
of_each_message = pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
with_each_key = pytest.mark.parametrize("key_id", ["k1", "ed"])


def copy_of(message: Signable) -> Signable:
    copy = type(message)()
    copy.MergeFromString(message.SerializeToString())
    return copy


def signed(message: Signable, key_id: str = "k1") -> Signable:
    copy = copy_of(message)
    Signer(KEYS, key_id).sign(copy)
    return copy


def test_the_signature_that_deployments_agree_on() -> None:
    intent = refund()

    Signer(KEYS, "k1").sign(intent)

    assert intent.signature_scheme == HMAC_SHA256
    assert intent.signing_key_id == "k1"
    assert (
        intent.signature.hex() == "b7f66dac576fa20f1771060d039e325a2e136d117bccb40f172d20c277ac2abc"
    )


@of_each_message
@with_each_key
def test_what_was_signed_is_verified(message: Signable, key_id: str) -> None:
    assert verify(signed(message, key_id), KEYS) == Verified(key_id)


@of_each_message
@with_each_key
def test_a_changed_message_is_forged(message: Signable, key_id: str) -> None:
    changed = signed(message, key_id)
    changed.namespace = "elsewhere"

    assert verify(changed, KEYS) == Forged(key_id)


@of_each_message
@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_digest_of_the_wrong_length_is_forged(message: Signable, length: int) -> None:
    cut = signed(message)
    cut.signature = (cut.signature * 2)[:length]

    assert verify(cut, KEYS) == Forged("k1")


@of_each_message
def test_signing_again_replaces_the_signature(message: Signable) -> None:
    twice = signed(signed(message, "ed"), "k1")

    assert twice == signed(message, "k1")


@of_each_message
def test_no_signature_at_all_is_unsigned(message: Signable) -> None:
    assert verify(message, KEYS) == Unsigned()


@pytest.mark.parametrize("field", ["signature_scheme", "signing_key_id", "signature"])
def test_a_signature_with_a_part_taken_out_is_not_unsigned(field: str) -> None:
    intent = signed(refund())
    intent.ClearField(field)

    assert verify(intent, KEYS) in (Forged("k1"), UnknownKey(""))


def test_a_signature_of_another_scheme_is_forged() -> None:
    intent = signed(refund())
    intent.signature_scheme = ED25519

    assert verify(intent, KEYS) == Forged("k1")


def test_a_public_key_is_enough_to_verify() -> None:
    intent = signed(refund(), "ed")

    assert verify(intent, Keyring.parse(PUBLIC)) == Verified("ed")


def test_one_message_cannot_pass_as_another() -> None:
    # A result that parses as an approval of the same intent, signed by the same key.
    result = ToolResult(intent_id="i", seq=0)
    approval = Approval(intent_id="i")
    assert result.SerializeToString() == approval.SerializeToString()

    Signer(KEYS, "k1").sign(result)
    approval.signature_scheme = HMAC_SHA256
    approval.signing_key_id = "k1"
    approval.signature = result.signature

    assert verify(approval, KEYS) == Forged("k1")


# --- B98: verified is what was received ------------------------------------------------------

# Field 200, a string, which this version does not know.
UNKNOWN_FIELD: bytes = TagBytes(200, 2) + b"\x03new"


def test_b98_a_field_from_a_newer_producer_is_covered() -> None:
    intent = ToolIntent.FromString(refund().SerializeToString() + UNKNOWN_FIELD)

    assert verify(signed(intent), KEYS) == Verified("k1")


def test_b98_a_field_added_after_signing_is_forged() -> None:
    extended = ToolIntent.FromString(signed(refund()).SerializeToString() + UNKNOWN_FIELD)

    assert verify(extended, KEYS) == Forged("k1")


def test_b98_the_order_of_the_encoded_fields_does_not_matter() -> None:
    intent = signed(refund())
    signature = ToolIntent(
        signature_scheme=intent.signature_scheme,
        signing_key_id=intent.signing_key_id,
        signature=intent.signature,
    )
    reordered = signature.SerializeToString() + refund().SerializeToString()
    assert reordered != intent.SerializeToString()

    assert verify(ToolIntent.FromString(reordered), KEYS) == Verified("k1")


def test_b98_the_spelling_of_the_arguments_matters() -> None:
    respelled = signed(refund())
    assert isinstance(respelled, ToolIntent)
    respelled.args_json = '{"amount":4200}'

    assert verify(respelled, KEYS) == Forged("k1")


# --- B100: rotation --------------------------------------------------------------------------

OLD = f"old={b64(b'old secret of some length')}"
NEW = f"new={b64(b'new secret of some length')}"


@pytest.mark.parametrize("key_id", ["old", "new"])
def test_b100_both_keys_hold_while_they_overlap(key_id: str) -> None:
    both = Keyring.parse(f"{OLD}\n{NEW}")
    intent = refund()
    Signer(both, key_id).sign(intent)

    assert verify(intent, both) == Verified(key_id)


def test_b100_after_the_overlap_the_old_key_is_unknown() -> None:
    intent = refund()
    Signer(Keyring.parse(OLD), "old").sign(intent)

    assert verify(intent, Keyring.parse(NEW)) == UnknownKey("old")


# --- signers ---------------------------------------------------------------------------------


def test_a_signer_reads_its_keyring_where_it_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    signer = Signer("env:SIGNING_KEYS", "k1")
    intent = refund()

    monkeypatch.setenv("SIGNING_KEYS", HMAC)
    signer.sign(intent)

    assert verify(intent, KEYS) == Verified("k1")


def test_a_key_that_is_not_there_cannot_sign() -> None:
    with pytest.raises(KeyringError, match=r"has no key 'k2'; it has \['ed', 'k1'\]"):
        Signer(KEYS, "k2").sign(refund())


def test_a_public_key_cannot_sign() -> None:
    with pytest.raises(KeyringError, match=r"key 'ed' of .* can only verify"):
        Signer(Keyring.parse(PUBLIC), "ed").sign(refund())


@pytest.mark.parametrize("message", [AgentEnvelope(), None, b"", "intent"])
def test_what_has_no_signature_can_be_neither_signed_nor_verified(message: Any) -> None:
    with pytest.raises(NotSignable, match="has no signature: signed are"):
        verify(message, KEYS)
    with pytest.raises(NotSignable, match="has no signature: signed are"):
        Signer(KEYS, "k1").sign(message)


@pytest.mark.parametrize("keyring", [None, "env:KEYS"])
def test_a_reference_is_no_keyring_to_verify_with(keyring: Any) -> None:
    with pytest.raises(KeyringError, match=r"with a Keyring, not .*: use Keyring\.load"):
        verify(refund(), keyring)
