"""Answers that are not signed by whom the configuration trusts change nothing."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from beam_agents._protos import AgentEnvelope, ToolResult
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.testing import AgentHarness
from beam_agents.intents import KeyringError, Signer
from tests.unit.core.agents import KEY, pay


@pytest.fixture
def keys(tmp_path: Path) -> str:
    path = tmp_path / "keys"
    path.write_text("".join(f"{name}={_secret(name)}\n" for name in ("k1", "k2")))
    return f"file:{path}"


def _secret(name: str) -> str:
    return base64.b64encode(name.encode() * 16).decode()


def result_for(harness: AgentHarness) -> AgentEnvelope:
    envelope = AgentEnvelope(entity_key=KEY, event_time_ms=2_000)
    envelope.tool_result.CopyFrom(
        ToolResult(intent_id=harness.intents[0].intent_id, status=ToolResult.OK, payload=b"1")
    )
    return envelope


def suspended(config: AgentConfig) -> AgentHarness:
    harness = AgentHarness(pay, config)
    harness.event(KEY, b"e", at_ms=1_000)
    return harness


def test_a_signed_result_resumes(keys: str) -> None:
    harness = suspended(AgentConfig(result_keys=keys))
    envelope = result_for(harness)
    Signer(keys, "k2").sign(envelope.tool_result)

    harness.send(envelope)

    assert harness.outputs == [b"e: OK 1"]


def test_an_unsigned_result_is_unverified(keys: str) -> None:
    harness = suspended(AgentConfig(result_keys=keys))
    before = harness.cell(KEY)

    harness.send(result_for(harness))

    assert [(error.reason, error.detail) for error in harness.errors] == [
        ("unverified", "it is not signed")
    ]
    assert harness.cell(KEY) == before


def test_a_result_changed_after_signing_is_unverified(keys: str) -> None:
    harness = suspended(AgentConfig(result_keys=keys))
    envelope = result_for(harness)
    Signer(keys, "k1").sign(envelope.tool_result)
    envelope.tool_result.payload = b"2"

    harness.send(envelope)

    assert [error.reason for error in harness.errors] == ["unverified"]
    assert harness.outputs == []


def test_a_result_of_an_unknown_key_is_unverified(keys: str) -> None:
    harness = suspended(AgentConfig(result_keys=keys))
    envelope = result_for(harness)
    Signer(keys, "k1").sign(envelope.tool_result)
    envelope.tool_result.signing_key_id = "k9"

    harness.send(envelope)

    assert "'k9'" in harness.errors[0].detail


def test_an_early_result_is_verified_before_it_is_kept(keys: str) -> None:
    ahead = suspended(AgentConfig())
    harness = AgentHarness(pay, AgentConfig(result_keys=keys))

    harness.send(result_for(ahead))

    assert [error.reason for error in harness.errors] == ["unverified"]
    assert harness.cell(KEY) == b""


async def asks(ctx: ActivationContext) -> Complete | Suspend:
    if not ctx.is_resume:
        ctx.request_approval("pay", {})
        return Suspend(b"", timeout_ms=30_000)
    return Complete(b"approved" if ctx.resume_approval is not None else b"refused")


def test_each_kind_of_answer_has_its_own_keys(keys: str) -> None:
    harness = AgentHarness(asks, AgentConfig(approval_keys=keys))
    harness.event(KEY, b"e")

    harness.approve(harness.intents[0])
    assert [error.reason for error in harness.errors] == ["unverified"]
    harness.result(harness.intents[0], status=ToolResult.EXPIRED)

    assert harness.outputs == [b"refused"]


def test_a_signed_approval_resumes(keys: str) -> None:
    harness = AgentHarness(asks, AgentConfig(approval_keys=keys))
    harness.event(KEY, b"e")
    envelope = AgentEnvelope(entity_key=KEY)
    envelope.approval.intent_id = harness.intents[0].intent_id
    envelope.approval.approved = True
    Signer(keys, "k1").sign(envelope.approval)

    harness.send(envelope)

    assert harness.outputs == [b"approved"]


def test_keys_that_cannot_be_read_stop_the_bundle() -> None:
    harness = suspended(AgentConfig(result_keys="env:BEAM_AGENTS_TEST_NO_SUCH_KEYS"))

    with pytest.raises(KeyringError, match="BEAM_AGENTS_TEST_NO_SUCH_KEYS"):
        harness.send(result_for(harness))
