"""Intent ids: a pure function of an effect's position."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha1
from uuid import UUID, uuid5

_MAX_ID = 256

# Fixed: deployments exist that mint their ids under it.
INTENT_NAMESPACE = UUID("6f3e9d2a-1c47-5b8e-9a10-2d4f6b8c0e11")


def intent_id_for(entity_key: bytes, seq: int, step_index: int, *, namespace: str = "") -> str:
    """Compute the id of the `step_index`-th effect of activation `seq` of a key.

    No clock, no counter and no decoding of the key take part, so a replayed
    activation that walks the same path mints the same ids, and a caller can know
    an id before the pipeline runs.

    Args:
        entity_key: The raw key, of any bytes.
        seq: Index of the logical activation of this key, from 0.
        step_index: Index of the effect within the activation, from 0.
        namespace: Separates agents that share keys, topics or a dedup store.

    Returns:
        A version 5 UUID (RFC 9562) in its canonical text form.
    """
    return _uuid5_text(_uuid_namespace(namespace), f"{entity_key.hex()}|{seq}|{step_index}")


def is_intent_id(text: str) -> bool:
    """Tell whether a text may be the id of an intent, also of one that others minted.

    Ids are keys in stores and stand in logs: they are 1 to 256 printable ASCII
    characters without spaces. Those of `intent_id_for` have 36.
    """
    return 0 < len(text) <= _MAX_ID and text.isascii() and text.isprintable() and " " not in text


@lru_cache(maxsize=64)
def _uuid_namespace(namespace: str) -> bytes:
    return (uuid5(INTENT_NAMESPACE, namespace) if namespace else INTENT_NAMESPACE).bytes


def _uuid5_text(namespace: bytes, name: str) -> str:
    """Do what `str(uuid5(…))` does, without its objects: at each intent and each answer."""
    digest = sha1(namespace + name.encode(), usedforsecurity=False).hexdigest()
    variant = "89ab"[int(digest[16], 16) & 3]
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"
