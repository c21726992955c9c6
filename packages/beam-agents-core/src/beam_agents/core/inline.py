"""Read-only tools, run inside an activation."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping

from beam_agents.core.request import ToolRequest
from beam_agents.tools import SideEffectToolError, Tool, ToolArgumentsError, ToolRegistry


async def call_inline(
    tool: str | Tool, args: str | Mapping[str, object], registry: ToolRegistry | None
) -> object:
    """Run a tool that has no side effect; see `ActivationContext.call_tool`."""
    request = ToolRequest.of(tool, args, registry)
    if request.tool is None or request.arguments is None:
        raise ToolArgumentsError(
            f"{request.tool_name!r} is only a name here: pass the tool itself, or set "
            "AgentConfig(tools=)"
        )
    if request.tool.side_effect:
        raise SideEffectToolError(
            f"{request.tool_name!r} has a side effect: stage it with ctx.act()"
        )
    # On a thread: a blocking tool must not stop every other key's activation.
    returned = await asyncio.to_thread(request.tool.invoke, request.arguments, None)
    return await returned if inspect.isawaitable(returned) else returned
