"""The state cell: one version byte, then `KeyState`; and the short memories inside it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from google.protobuf.message import DecodeError

from beam_agents._protos.state_pb2 import KeyState

SCHEMA_VERSION: Final = 1
DIGEST_BYTES: Final = 8
REMEMBERED_ANSWERS: Final = 32
REMEMBERED_TIMEOUTS: Final = 8


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A cell that this release cannot read, and therefore must leave as it is.

    Attributes:
        reason: `state_version` or `undecodable`.
        detail: What to do about it.
    """

    reason: str
    detail: str


def encode(state: KeyState) -> bytes:
    """Return the cell of a state."""
    return bytes((SCHEMA_VERSION,)) + state.SerializeToString()


def decode(cell: bytes | None) -> KeyState | Unreadable:
    """Read a cell; an absent or empty one is a fresh key."""
    if not cell:
        return KeyState()
    if cell[0] != SCHEMA_VERSION:
        return Unreadable(
            "state_version",
            f"the key's state has schema version {cell[0]}, this release reads "
            f"{SCHEMA_VERSION}: run the release that wrote it, or a newer one",
        )
    try:
        return KeyState.FromString(cell[1:])
    except DecodeError as error:
        return Unreadable("undecodable", f"the key's state cannot be parsed: {error}")


def short_digest(data: bytes) -> bytes:
    """Return the 8 bytes by which a key remembers an event id or an answer."""
    return sha256(data).digest()[:DIGEST_BYTES]


def remembers(digests: bytes, digest: bytes) -> bool:
    """Tell whether the digest is among those remembered."""
    return any(
        digests[start : start + DIGEST_BYTES] == digest
        for start in range(0, len(digests), DIGEST_BYTES)
    )


def remember(digests: bytes, digest: bytes, limit: int) -> bytes:
    """Return the digests with one more, the oldest dropped beyond the limit."""
    kept = digests + digest
    return kept[max(0, len(kept) - limit * DIGEST_BYTES) :]


def forget(digests: bytes, digest: bytes) -> bytes:
    """Return the digests without one."""
    kept = [digests[at : at + DIGEST_BYTES] for at in range(0, len(digests), DIGEST_BYTES)]
    return b"".join(each for each in kept if each != digest)
