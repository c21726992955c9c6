"""Whether a record is an intent that may drive anything: decoded, whole, and authentic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from google.protobuf.message import DecodeError

from beam_agents._protos import ToolIntent
from beam_agents.effector.ports import Delivery
from beam_agents.effector.probe import Probe
from beam_agents.intents.identity import is_intent_id
from beam_agents.intents.keyring import Keyring
from beam_agents.intents.signing import Forged, UnknownKey, Unsigned, Verified, verify
from beam_agents.intents.topics import declared_type


@dataclass(frozen=True, slots=True)
class Refused:
    """The record drives nothing; it goes to the dead letters for this reason."""

    reason: str


class Verification:
    """Reads intents out of records.

    Args:
        mode: Whether intents must be signed.
        keys: Verify them; needed unless the mode is `off`.
        probe: Counts what is let through all the same.
    """

    def __init__(
        self,
        mode: Literal["off", "permissive", "require"],
        keys: Keyring | None,
        probe: Probe,
    ) -> None:
        if mode != "off" and keys is None:
            raise ValueError(f"verify_intents={mode!r} needs keys: nothing could be verified")
        self._require = mode == "require"
        self._keys = None if mode == "off" else keys
        self._probe = probe

    def read(self, delivery: Delivery) -> ToolIntent | Refused:
        """Decode a record and judge its signature."""
        intent = _decoded(delivery)
        if isinstance(intent, Refused):
            return intent
        refusal = self._judge(intent)
        if refusal is not None:
            return refusal
        if delivery.key != intent.entity_key:
            self._probe.count("record_key_differs")
        return intent

    def _judge(self, intent: ToolIntent) -> Refused | None:
        if self._keys is None:
            return None
        verified = verify(intent, self._keys)
        if isinstance(verified, Verified):
            return None
        if isinstance(verified, Unsigned):
            if self._require:
                return Refused("unsigned")
            self._probe.count("unsigned_intent")
            return None
        return Refused(_REASONS[type(verified)])


_TYPES = (None, ToolIntent.DESCRIPTOR.name)
_REASONS = {UnknownKey: "unknown_key", Forged: "forged"}


def _decoded(delivery: Delivery) -> ToolIntent | Refused:
    if delivery.value is None:
        return Refused("null")
    if not delivery.value:
        return Refused("empty")  # zero bytes parse as a message of defaults
    if declared_type(delivery.headers) not in _TYPES:
        return Refused("wrong_type")
    try:
        intent = ToolIntent.FromString(delivery.value)
    except DecodeError:
        return Refused("undecodable")
    if not is_intent_id(intent.intent_id):
        return Refused("bad_intent_id" if intent.intent_id else "no_intent_id")
    return intent
