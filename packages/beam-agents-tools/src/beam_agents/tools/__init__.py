"""What a model may ask for: typed functions as tools, on both sides of the wire."""

from beam_agents.tools.decorator import tool
from beam_agents.tools.definition import Tool
from beam_agents.tools.errors import (
    ArgumentProblem,
    CanonicalJsonError,
    RegistryError,
    SideEffectToolError,
    ToolArgumentsError,
    ToolDefinitionError,
    ToolError,
    ToolResultError,
)
from beam_agents.tools.intent_info import IntentInfo
from beam_agents.tools.outcomes import Applied, NotApplied, Retryable, Unknown
from beam_agents.tools.registry import ToolRegistry
from beam_agents.tools.results import encode_result

__all__ = [
    "Applied",
    "ArgumentProblem",
    "CanonicalJsonError",
    "IntentInfo",
    "NotApplied",
    "RegistryError",
    "Retryable",
    "SideEffectToolError",
    "Tool",
    "ToolArgumentsError",
    "ToolDefinitionError",
    "ToolError",
    "ToolRegistry",
    "ToolResultError",
    "Unknown",
    "encode_result",
    "tool",
]
