"""Builds a person's answer to an approval request, as every approval surface must send it."""

from __future__ import annotations

from beam_agents._protos import AgentEnvelope, ToolIntent
from beam_agents.intents.fingerprint import grant_digest
from beam_agents.intents.signing import Signer


class DecisionError(ValueError):
    """Nothing can be decided about this intent; the message says why."""


def build_decision(
    request: ToolIntent,
    *,
    approved: bool,
    approver: str,
    decided_at_ms: int,
    reason: str = "",
    signer: Signer | None = None,
) -> AgentEnvelope:
    """Build the decision on a request, to be published on the decisions topic under its key.

    It allows exactly the tool, key, namespace and arguments of the request, for as
    long after the decision as the request itself was open. The request's id is the
    grant's: two decisions on one request are one grant, to be used once.

    Args:
        request: The approval request, as the effector passed it on.
        approved: Whether the arguments may be run. Nothing else is an approval.
        approver: Who decided; part of what is signed.
        decided_at_ms: When, in unix milliseconds.
        reason: For the agent, which is told why it was denied.
        signer: Signs the decision; without it a pipeline or effector that has
            approval keys refuses it.

    Raises:
        DecisionError: The intent is no approval request, or it has expired.
        KeyringError: The signer's keyring cannot be read, or has no such key.
    """
    if request.kind != ToolIntent.APPROVAL:
        raise DecisionError(f"the intent {request.intent_id!r} asks nobody: its kind is TOOL")
    if decided_at_ms >= request.expires_at_ms:
        raise DecisionError(
            f"the request {request.intent_id!r} expired at {request.expires_at_ms}, "
            f"before the decision at {decided_at_ms}"
        )
    approval = AgentEnvelope.Approval(
        intent_id=request.intent_id,
        approved=approved,
        approver=approver,
        reason=reason,
        decided_at_ms=decided_at_ms,
        expires_at_ms=decided_at_ms + request.expires_at_ms - request.created_at_ms,
        args_digest=grant_digest(
            namespace=request.namespace,
            entity_key=request.entity_key,
            tool_name=request.tool_name,
            args_json=request.args_json,
        ),
        namespace=request.namespace,
    )
    if signer is not None:
        signer.sign(approval)
    return AgentEnvelope(
        entity_key=request.entity_key, event_time_ms=decided_at_ms, approval=approval
    )
