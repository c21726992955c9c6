"""Settings out of range are errors at construction that name the fix."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from beam_agents.core.config import AgentConfig
from beam_agents.core.errors import AgentConfigError
from beam_agents.tools import tool


def test_the_defaults_are_those_documented() -> None:
    config = AgentConfig()

    assert config.ttl_ms == 30 * 86_400_000
    assert config.intent_ttl_ms == 3_600_000
    assert config.activation_timeout_ms == 60_000
    assert config.hold_ms == 86_400_000
    assert (config.max_queued_events, config.remembered_event_ids) == (1_000, 32)
    assert (config.max_parked_answers, config.parked_ms) == (64, 3_600_000)
    assert config.max_concurrent_activations == 100
    assert (config.traces, config.trace_payloads) == (False, False)


@tool
def echo_tool(text: str) -> str:
    """Read-only."""
    return text


@pytest.mark.parametrize(
    "setting",
    [
        {"trace_payloads": True},
        {"ttl_ms": 0},
        {"ttl_ms": 10**18},
        {"intent_ttl_ms": 30 * 86_400_000 + 1},
        {"activation_timeout_ms": -1},
        {"activation_timeout_ms": 1.5},
        {"hold_ms": True},
        {"max_queued_events": -1},
        {"max_event_age_ms": 0},
        {"max_concurrent_activations": 0},
        {"on_timeout": "retry"},
        {"on_resume_error": "drop"},
        {"while_suspended": "wait"},
        {"namespace": b"n"},
        {"provider_factory": "my.module:make"},
        {"result_keys": 7},
        {"approval_keys": "k1=AAAA"},
        {"tools": [echo_tool]},
    ],
)
def test_a_value_out_of_range_names_its_setting(setting: dict[str, Any]) -> None:
    (name,) = setting

    with pytest.raises(AgentConfigError, match=name):
        AgentConfig(**setting)


def test_a_list_of_tools_is_told_to_be_a_registry() -> None:
    with pytest.raises(AgentConfigError, match=r"ToolRegistry\(first_tool, second_tool\)"):
        AgentConfig(tools=[echo_tool])  # type: ignore[arg-type]


def test_key_material_given_by_mistake_is_not_repeated() -> None:
    with pytest.raises(AgentConfigError) as raised:
        AgentConfig(result_keys="k1=c2VjcmV0")

    assert "c2VjcmV0" not in str(raised.value)


def test_a_config_survives_pickling() -> None:
    config = AgentConfig(namespace="n", ttl_ms=5)

    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 - our own bytes
