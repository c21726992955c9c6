"""Approval grants: a tool that needs one runs only the arguments a person saw, and once."""

from __future__ import annotations

from beam_agents._protos import ToolIntent
from beam_agents.effector.ports import DEADLINE_GRACE_MS, Clock, DedupStore
from beam_agents.intents.fingerprint import grant_digest
from beam_agents.intents.identity import is_intent_id
from beam_agents.intents.keyring import Keyring
from beam_agents.intents.signing import Verified, verify


class Grants:
    """Checks the grant that an intent carries, and uses it up.

    Args:
        store: Remembers which intent used a grant.
        clock: Judges whether a grant has expired.
        keys: Verify the approver's signature. Without them a grant counts only
            because the signed intent that carries it was verified.
    """

    def __init__(self, store: DedupStore, clock: Clock, keys: Keyring | None) -> None:
        self._store = store
        self._clock = clock
        self._keys = keys

    async def refusal(self, intent: ToolIntent) -> str | None:
        """Say why the intent may not run for want of a grant; None once the grant is used for it.

        A grant whose intent is then refused for another reason stays used.
        """
        problem = grant_problem(intent, now_ms=self._clock.now_ms(), keys=self._keys)
        if problem is not None:
            return problem
        grant = intent.approval
        keep_until_ms = max(grant.expires_at_ms, intent.expires_at_ms) + DEADLINE_GRACE_MS
        redeemed = await self._store.redeem(
            grant.intent_id, intent.intent_id, keep_until_ms=keep_until_ms
        )
        return None if redeemed else "the approval was used by another intent"


def grant_problem(intent: ToolIntent, *, now_ms: int, keys: Keyring | None) -> str | None:
    """Say what is wrong with the grant that an intent must carry, used or not; None if nothing.

    Args:
        intent: The intent.
        now_ms: When, in unix milliseconds.
        keys: Verify the approver's signature; without them it is not looked at.
    """
    if not intent.HasField("approval"):
        return "the tool requires an approval, and the intent carries none"
    grant = intent.approval
    digest = grant_digest(
        namespace=intent.namespace,
        entity_key=intent.entity_key,
        tool_name=intent.tool_name,
        args_json=intent.args_json,
    )
    if not grant.approved:
        return "the approval is a denial"
    if not is_intent_id(grant.intent_id):
        return "the approval does not name its request"
    if grant.namespace != intent.namespace or grant.args_digest != digest:
        return "the approval was given for another key, tool or arguments"
    if grant.expires_at_ms <= now_ms:
        return "the approval has expired"
    if keys is not None and not isinstance(verify(grant, keys), Verified):
        return "the approval is not signed by a known approver"
    return None
