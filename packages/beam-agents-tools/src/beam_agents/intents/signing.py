"""Signs intents, results and approvals, and tells whether a signature holds.

What is signed is the deterministic serialization of the message without its
three signature fields. Fields that this version does not know are part of it:
an added one breaks the signature instead of slipping past. The order in which
fields were encoded does not matter, because they are parsed first; the text of
the arguments matters to the letter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from google.protobuf.message import Message

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents.intents.keyring import Keyring, KeyringError, KeyringReference

Signable: TypeAlias = ToolIntent | ToolResult | AgentEnvelope.Approval

_SIGNABLE = (ToolIntent, ToolResult, AgentEnvelope.Approval)
_SIGNATURE_FIELDS = ("signature_scheme", "signing_key_id", "signature")


def _label(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text


# One key may sign all three: the labels keep one from passing as another. Intents
# have none, because deployed signers know none.
_LABELS = {
    ToolIntent.DESCRIPTOR.full_name: b"",
    ToolResult.DESCRIPTOR.full_name: _label(b"beam-agents/result/v1"),
    AgentEnvelope.Approval.DESCRIPTOR.full_name: _label(b"beam-agents/approval/v1"),
}


class NotSignable(TypeError):
    """What was given to be signed or verified carries no signature of its own."""


@dataclass(frozen=True, slots=True)
class Verified:
    """The signature is that of this key."""

    key_id: str


@dataclass(frozen=True, slots=True)
class Unsigned:
    """There is no signature, nor any part of one."""


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """The keyring does not have the key, so nothing can be said of the signature."""

    key_id: str


@dataclass(frozen=True, slots=True)
class Forged:
    """The signature is not what this key would have made."""

    key_id: str


Verification: TypeAlias = Verified | Unsigned | UnknownKey | Forged


class Signer:
    """Signs with one key of a keyring.

    Args:
        keyring: The keyring, or a reference to one that is read on first use: where a
            pipeline runs, not where it was built.
        key_id: The key that signs; others may be in the keyring while keys rotate.
    """

    def __init__(self, keyring: Keyring | KeyringReference, key_id: str) -> None:
        self._keyring = keyring
        self.key_id = key_id

    def sign(self, message: Signable) -> None:
        """Sign in place, replacing any signature.

        Raises:
            KeyringError: The keyring cannot be read, or has no such key that signs.
            NotSignable: It is no intent, result or approval.
        """
        _require_signable(message)
        if not isinstance(self._keyring, Keyring):
            self._keyring = Keyring.load(self._keyring)
        key = self._keyring.signing_key(self.key_id)
        _clear(message)
        signature = key.sign(_signed_bytes(message))
        message.signature_scheme = key.scheme
        message.signing_key_id = self.key_id
        message.signature = signature


def verify(message: Signable, keyring: Keyring) -> Verification:
    """Judge a message's signature. Never raises for what is in the message.

    Raises:
        NotSignable: It is no intent, result or approval.
        KeyringError: The keyring is none, such as the reference to one.
    """
    _require_signable(message)
    if not isinstance(keyring, Keyring):
        raise KeyringError(
            f"a message is verified with a Keyring, not {type(keyring).__name__}: use Keyring.load"
        )
    key_id = message.signing_key_id
    if not (message.signature_scheme or key_id or message.signature):
        return Unsigned()
    key = keyring.key(key_id)
    if key is None:
        return UnknownKey(key_id)
    if key.scheme != message.signature_scheme:
        return Forged(key_id)
    holds = key.verify(_signed_bytes(_unsigned(message)), message.signature)
    return Verified(key_id) if holds else Forged(key_id)


def _require_signable(message: object) -> None:
    if not isinstance(message, _SIGNABLE):
        raise NotSignable(
            f"{type(message).__name__} has no signature: signed are a ToolIntent, a ToolResult "
            "and the Approval in an AgentEnvelope"
        )


def _unsigned(message: Message) -> Message:
    copy = type(message)()
    copy.CopyFrom(message)
    _clear(copy)
    return copy


def _clear(message: Message) -> None:
    for name in _SIGNATURE_FIELDS:
        message.ClearField(name)


def _signed_bytes(message: Message) -> bytes:
    label = _LABELS[message.DESCRIPTOR.full_name]
    return label + message.SerializeToString(deterministic=True)
