"""Envelopes as producers, effectors and people send them."""

from __future__ import annotations

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents.core.agent import Agent
from beam_agents.core.testing import AgentHarness
from beam_agents.intents import Keyring, Signer
from beam_agents.intents.fingerprint import grant_digest


def event(key: bytes, payload: bytes, at_ms: int, event_id: str = "") -> AgentEnvelope:
    return AgentEnvelope(
        entity_key=key, event_time_ms=at_ms, external_event=payload, event_id=event_id
    )


def intents_of(agent: Agent, *envelopes: AgentEnvelope) -> list[ToolIntent]:
    """The intents that an agent stages: their ids follow from their position."""
    harness = AgentHarness(agent)
    for envelope in envelopes:
        harness.send(envelope)
    return harness.intents


def answer(intent: ToolIntent, payload: bytes, at_ms: int) -> AgentEnvelope:
    result = ToolResult(intent_id=intent.intent_id, status=ToolResult.OK, payload=payload)
    return AgentEnvelope(entity_key=intent.entity_key, event_time_ms=at_ms, tool_result=result)


def ended(intent: ToolIntent, status: ToolResult.Status, at_ms: int) -> AgentEnvelope:
    envelope = answer(intent, b"", at_ms)
    envelope.tool_result.status = status
    return envelope


def approval(request: ToolIntent, at_ms: int) -> AgentEnvelope:
    digest = grant_digest(
        namespace=request.namespace,
        entity_key=request.entity_key,
        tool_name=request.tool_name,
        args_json=request.args_json,
    )
    decision = AgentEnvelope.Approval(
        intent_id=request.intent_id, approved=True, decided_at_ms=at_ms, args_digest=digest
    )
    return AgentEnvelope(entity_key=request.entity_key, event_time_ms=at_ms, approval=decision)


def denial(request: ToolIntent, at_ms: int) -> AgentEnvelope:
    envelope = approval(request, at_ms)
    envelope.approval.approved, envelope.approval.reason = False, "too much"
    envelope.approval.approver = "ann"
    return envelope


def retry(key: bytes, seq: int, at_ms: int) -> AgentEnvelope:
    envelope = AgentEnvelope(entity_key=key, event_time_ms=at_ms)
    envelope.retry.seq = seq
    return envelope


def export(key: bytes, at_ms: int) -> AgentEnvelope:
    envelope = AgentEnvelope(entity_key=key, event_time_ms=at_ms)
    envelope.export_request.request_id = "r"
    return envelope


def received(envelope: AgentEnvelope, at_ms: int) -> AgentEnvelope:
    envelope.received_at_ms = at_ms
    return envelope


def of_namespace(envelope: AgentEnvelope, namespace: str) -> AgentEnvelope:
    moved = AgentEnvelope()
    moved.CopyFrom(envelope)
    moved.tool_result.namespace = namespace
    return moved


def of_another_request(envelope: AgentEnvelope) -> AgentEnvelope:
    envelope.tool_result.fingerprint = b"\x01" * 32
    return envelope


def keys() -> Keyring:
    return Keyring.parse("k1=" + "QUJD" * 11)


def signed(envelope: AgentEnvelope) -> AgentEnvelope:
    Signer(keys(), "k1").sign(envelope.tool_result)
    return envelope
