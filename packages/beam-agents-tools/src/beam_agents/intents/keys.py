"""One key: what it can sign, and what it can verify. Never printed."""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import TYPE_CHECKING, Protocol

from beam_agents._protos import ED25519, HMAC_SHA256, SignatureScheme

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )


class Key(Protocol):
    """A key of one scheme."""

    @property
    def scheme(self) -> SignatureScheme:
        """The scheme of its signatures."""

    @property
    def can_sign(self) -> bool:
        """Whether it is more than a public key."""

    def sign(self, data: bytes) -> bytes:
        """Sign."""

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Tell whether this key made the signature, in constant time."""


class KeyFormatError(ValueError):
    """A text is no key; the message does not repeat it."""


def parse_key(text: str) -> Key:
    """Read a key as a keyring's line gives it.

    Raises:
        KeyFormatError: The text is not one.
        ModuleNotFoundError: An Ed25519 key, and `cryptography` is not installed.
    """
    form, colon, encoded = text.rpartition(":")
    if not colon:
        return HmacKey(_decoded(encoded))
    if form == "ed25519-public":
        return Ed25519Key.public(_raw_ed25519(encoded))
    if form == "ed25519-private":
        return Ed25519Key.private(_raw_ed25519(encoded))
    raise KeyFormatError("is of no known form: use ed25519-public: or ed25519-private:")


# RFC 2104 advises as many bytes as the hash has (32 here) and forbids no fewer. At 16 a key is
# beyond guessing (NIST SP 800-131A asks for 14), and older keys stay valid.
MIN_SECRET_BYTES = 16


class HmacKey:
    """A secret that signs and verifies.

    Raises:
        KeyFormatError: It is shorter than 16 bytes. Make it of 32 random ones.
    """

    scheme = HMAC_SHA256
    can_sign = True

    def __init__(self, secret: bytes) -> None:
        if len(secret) < MIN_SECRET_BYTES:
            raise KeyFormatError(
                f"is {len(secret)} bytes long: an HMAC key has at least {MIN_SECRET_BYTES}, "
                "better 32, all random"
            )
        self._secret = secret

    def sign(self, data: bytes) -> bytes:
        """Compute the HMAC-SHA256."""
        return hmac.digest(self._secret, data, "sha256")

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Compute it again, and compare."""
        return hmac.compare_digest(self.sign(data), signature)


class Ed25519Key:
    """A public key, and where we have it the private one."""

    scheme = ED25519

    def __init__(self, public: Ed25519PublicKey, private: Ed25519PrivateKey | None = None) -> None:
        self._public = public
        self._private = private

    @classmethod
    def public(cls, raw: bytes) -> Ed25519Key:
        """Take a public key of 32 raw bytes."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return cls(Ed25519PublicKey.from_public_bytes(raw))

    @classmethod
    def private(cls, raw: bytes) -> Ed25519Key:
        """Take a private key of 32 raw bytes."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        private = Ed25519PrivateKey.from_private_bytes(raw)
        return cls(private.public_key(), private)

    @property
    def can_sign(self) -> bool:
        """Whether the private key is here."""
        return self._private is not None

    def sign(self, data: bytes) -> bytes:
        """Sign (RFC 8032), if the private key is here."""
        if self._private is None:
            raise KeyFormatError("is public, so it can only verify")
        return self._private.sign(data)

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Verify (RFC 8032)."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._public.verify(signature, data)
        except InvalidSignature:
            return False
        return True


def _raw_ed25519(encoded: str) -> bytes:
    raw = _decoded(encoded)
    if len(raw) != 32:
        raise KeyFormatError(f"is {len(raw)} bytes long: an Ed25519 key has 32")
    return raw


def _decoded(encoded: str) -> bytes:
    try:
        raw = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise KeyFormatError("is not base64") from None
    if not raw:
        raise KeyFormatError("is empty")
    return raw
