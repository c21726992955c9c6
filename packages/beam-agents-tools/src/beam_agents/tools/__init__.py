"""What a model may ask for: typed functions as tools, on both sides of the wire.

Names load on first use: whoever needs canonical JSON only does not load pydantic.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from beam_agents.tools.decorator import tool as tool
    from beam_agents.tools.definition import Tool as Tool
    from beam_agents.tools.errors import ArgumentProblem as ArgumentProblem
    from beam_agents.tools.errors import CanonicalJsonError as CanonicalJsonError
    from beam_agents.tools.errors import IntentInfoError as IntentInfoError
    from beam_agents.tools.errors import OutcomeError as OutcomeError
    from beam_agents.tools.errors import RegistryError as RegistryError
    from beam_agents.tools.errors import SideEffectToolError as SideEffectToolError
    from beam_agents.tools.errors import ToolArgumentsError as ToolArgumentsError
    from beam_agents.tools.errors import ToolDefinitionError as ToolDefinitionError
    from beam_agents.tools.errors import ToolError as ToolError
    from beam_agents.tools.errors import ToolResultError as ToolResultError
    from beam_agents.tools.intent_info import IntentInfo as IntentInfo
    from beam_agents.tools.json_reader import parse_json as parse_json
    from beam_agents.tools.json_writer import canonical_json as canonical_json
    from beam_agents.tools.outcomes import Applied as Applied
    from beam_agents.tools.outcomes import NotApplied as NotApplied
    from beam_agents.tools.outcomes import Retryable as Retryable
    from beam_agents.tools.outcomes import Unknown as Unknown
    from beam_agents.tools.registry import ToolRegistry as ToolRegistry
    from beam_agents.tools.results import encode_result as encode_result
else:
    from beam_agents._front_door import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "Applied": "beam_agents.tools.outcomes",
            "ArgumentProblem": "beam_agents.tools.errors",
            "CanonicalJsonError": "beam_agents.tools.errors",
            "IntentInfo": "beam_agents.tools.intent_info",
            "IntentInfoError": "beam_agents.tools.errors",
            "NotApplied": "beam_agents.tools.outcomes",
            "OutcomeError": "beam_agents.tools.errors",
            "RegistryError": "beam_agents.tools.errors",
            "Retryable": "beam_agents.tools.outcomes",
            "SideEffectToolError": "beam_agents.tools.errors",
            "Tool": "beam_agents.tools.definition",
            "ToolArgumentsError": "beam_agents.tools.errors",
            "ToolDefinitionError": "beam_agents.tools.errors",
            "ToolError": "beam_agents.tools.errors",
            "ToolRegistry": "beam_agents.tools.registry",
            "ToolResultError": "beam_agents.tools.errors",
            "Unknown": "beam_agents.tools.outcomes",
            "canonical_json": "beam_agents.tools.canonical_json",
            "encode_result": "beam_agents.tools.results",
            "parse_json": "beam_agents.tools.json_reader",
            "tool": "beam_agents.tools.decorator",
        },
    )


__all__ = [
    "Applied",
    "ArgumentProblem",
    "CanonicalJsonError",
    "IntentInfo",
    "IntentInfoError",
    "NotApplied",
    "OutcomeError",
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
    "canonical_json",
    "encode_result",
    "parse_json",
    "tool",
]
