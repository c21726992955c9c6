"""Builds an intent as an agent would stage it, so that tools are tested without agents."""

from __future__ import annotations

from collections.abc import Mapping

from beam_agents._protos import AgentEnvelope, ToolIntent
from beam_agents.intents.fingerprint import trace_id_for
from beam_agents.intents.identity import intent_id_for
from beam_agents.tools.canonical_json import canonical_json, parse_json

_HOUR_MS = 3_600_000


def build_intent(
    tool_name: str,
    args: str | Mapping[str, object],
    *,
    entity_key: bytes = b"key",
    seq: int = 0,
    step_index: int = 0,
    namespace: str = "",
    created_at_ms: int = 0,
    expires_at_ms: int | None = None,
    kind: ToolIntent.Kind = ToolIntent.TOOL,
    origin_digest: bytes = b"",
    schema_digest: bytes = b"",
    approval: AgentEnvelope.Approval | None = None,
    summary: str = "",
    may_overlap: bool = False,
) -> ToolIntent:
    """Build an unsigned intent: its id and trace id computed, its arguments canonical.

    Args:
        tool_name: The tool's name in the effector's registry.
        args: The arguments, as a mapping or as JSON text.
        entity_key: The key of the agent that asks.
        seq: Index of the activation of that key.
        step_index: Index of the effect within the activation.
        namespace: Of the agent.
        created_at_ms: Unix milliseconds.
        expires_at_ms: Unix milliseconds; an hour after `created_at_ms` by default.
        kind: `ToolIntent.TOOL`, or `ToolIntent.APPROVAL` to ask a person.
        origin_digest: Of the event that began the activation.
        schema_digest: Of the tool's schema as the agent knew it.
        approval: The grant that allows the intent.
        summary: For the person who approves.
        may_overlap: Whether it may start beside unfinished predecessors.

    Raises:
        CanonicalJsonError: The arguments are not JSON.
    """
    value = parse_json(args) if isinstance(args, str) else dict(args)
    return ToolIntent(
        intent_id=intent_id_for(entity_key, seq, step_index, namespace=namespace),
        entity_key=entity_key,
        seq=seq,
        step_index=step_index,
        tool_name=tool_name,
        args_json=canonical_json(value).decode(),
        created_at_ms=created_at_ms,
        expires_at_ms=created_at_ms + _HOUR_MS if expires_at_ms is None else expires_at_ms,
        kind=kind,
        trace_id=trace_id_for(
            namespace=namespace, entity_key=entity_key, seq=seq, origin_digest=origin_digest
        ),
        namespace=namespace,
        origin_digest=origin_digest,
        schema_digest=schema_digest,
        approval=approval,
        summary=summary,
        may_overlap=may_overlap,
    )
