"""Read-only tools, run inside an activation."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping

import pytest

from beam_agents.core.agent import Complete
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.testing import AgentHarness
from beam_agents.tools import Tool, ToolRegistry, tool
from tests.unit.core.agents import KEY


@tool
def double(number: int) -> int:
    """Double a number."""
    return number * 2


@tool
async def triple(number: int) -> int:
    """Triple a number."""
    await asyncio.sleep(0)
    return number * 3


@tool
def thread_name() -> str:
    """Name the thread."""
    return threading.current_thread().name


@tool(side_effect=True)
def pay() -> None:
    """Pay."""


TOOLS = AgentConfig(tools=ToolRegistry(double, triple, pay, thread_name))


def call(
    name: str | Tool, args: str | Mapping[str, object], config: AgentConfig | None = TOOLS
) -> AgentHarness:
    async def agent(ctx: ActivationContext) -> Complete:
        return Complete(repr(await ctx.call_tool(name, args)).encode())

    harness = AgentHarness(agent, config)
    harness.event(KEY, b"e")
    return harness


@pytest.mark.parametrize(("name", "answer"), [("double", b"42"), ("triple", b"63")])
def test_a_read_only_tool_runs_here(name: str, answer: bytes) -> None:
    assert call(name, {"number": 21}).outputs == [answer]


def test_a_tool_may_be_given_itself_without_a_registry() -> None:
    assert call(double, '{"number": 4}', None).outputs == [b"8"]


def test_a_blocking_tool_does_not_stop_the_other_keys() -> None:
    assert b"beam-agents-activations" not in call("thread_name", {}).outputs[0]


@pytest.mark.parametrize(
    ("name", "args", "problem"),
    [
        ("double", {"number": "21"}, "$.number"),
        ("halve", {}, "no tool 'halve'"),
        ("pay", {}, "SideEffectToolError"),
    ],
)
def test_what_cannot_run_here_says_why(name: str, args: Mapping[str, object], problem: str) -> None:
    assert problem in call(name, args).errors[0].detail


def test_a_mere_name_needs_a_registry() -> None:
    assert "AgentConfig(tools=)" in call("double", {"number": 1}, None).errors[0].detail
