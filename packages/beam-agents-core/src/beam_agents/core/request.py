"""What an agent asks of a tool: checked here, where the mistake is, as far as the tool is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from beam_agents._protos import AgentEnvelope
from beam_agents.tools import (
    CanonicalJsonError,
    RegistryError,
    Tool,
    ToolArgumentsError,
    ToolRegistry,
)
from beam_agents.tools.canonical_json import canonical_json, parse_json


@dataclass(slots=True)
class ToolRequest:
    """A tool by name, and its arguments in canonical JSON.

    Attributes:
        tool_name: As the effector's registry knows it.
        args_json: A JSON object in canonical form.
        tool: The tool itself, where the agent or its registry has it.
        arguments: The validated arguments, where the tool is known.
    """

    tool_name: str
    args_json: str
    tool: Tool | None
    arguments: dict[str, object] | None

    @classmethod
    def of(
        cls, tool: str | Tool, args: str | Mapping[str, object], registry: ToolRegistry | None
    ) -> ToolRequest:
        """Check a request.

        Raises:
            ToolArgumentsError: The name or the arguments would be refused later.
        """
        name = tool if isinstance(tool, str) else tool.name
        known = _known(tool, name, registry)
        args_json = _canonical(name, args)
        arguments = known.parse_arguments(args_json) if known is not None else None
        return cls(name, args_json, known, arguments)

    @property
    def schema_digest(self) -> bytes:
        """Digest of the tool's schema, empty where the tool is not known here."""
        return self.tool.schema_digest if self.tool is not None else b""

    def require_side_effect(self) -> None:
        """Refuse a read-only tool: the effector would."""
        if self.tool is not None and not self.tool.side_effect:
            raise ToolArgumentsError(
                f"{self.tool_name!r} has no side effect: run it here, by ctx.call_tool()"
            )

    def require_grant(self, approval: AgentEnvelope.Approval | None) -> None:
        """Refuse an effect that needs an approval and has none."""
        if self.tool is None or self.arguments is None or approval is not None:
            return
        if self.tool.needs_approval(self.arguments):
            raise ToolArgumentsError(
                f"{self.tool_name!r} requires an approval of these arguments: "
                "ctx.request_approval() first, then act(…, approval=ctx.grant())"
            )


def _known(tool: str | Tool, name: str, registry: ToolRegistry | None) -> Tool | None:
    if registry is None:
        return None if isinstance(tool, str) else tool
    try:
        return registry[name]
    except RegistryError as error:
        raise ToolArgumentsError(str(error)) from error


def _canonical(name: str, args: str | Mapping[str, object]) -> str:
    try:
        value = parse_json(args) if isinstance(args, str) else dict(args)
        if not isinstance(value, dict):
            raise ToolArgumentsError(f"arguments of {name!r} must be a JSON object, not {args!r}")
        return canonical_json(value).decode()
    except CanonicalJsonError as error:
        raise ToolArgumentsError(f"arguments of {name!r}: {error}") from error
