"""Whether the tool of an intent may be called here: decided before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from beam_agents._protos import ToolIntent
from beam_agents.effector.interruptions import NotYetKnown
from beam_agents.effector.work import Work
from beam_agents.tools import Tool, ToolArgumentsError, ToolRegistry

_APPROVAL = ToolIntent.APPROVAL
_KINDS_OF_TOOLS = frozenset({ToolIntent.KIND_UNSPECIFIED, ToolIntent.TOOL})


class Runnable(NamedTuple):
    """The tool may be called with these arguments, once a grant that it needs is checked."""

    tool: Tool
    arguments: dict[str, object]


@dataclass(frozen=True, slots=True)
class Rejected:
    """The tool is not called; the intent is answered REJECTED with this reason."""

    reason: str


Screened: TypeAlias = Runnable | Rejected


class Screening:
    """Judges intents against the registry.

    Args:
        registry: The tools of this worker.
        refused_tools: Names the tools not to run now.
        wait_for_unknown: Whether to hold what another release may understand.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        refused_tools: Callable[[], Collection[str]],
        wait_for_unknown: bool,
    ) -> None:
        self._registry = registry
        self._refused_tools = refused_tools
        self._wait_for_unknown = wait_for_unknown

    def tool_of(self, work: Work) -> Tool | None:
        """Find the tool; None for an unknown one, and for an intent that calls none."""
        intent = work.intent
        return None if intent.kind == _APPROVAL else self._registry.get(intent.tool_name)

    def judge(self, work: Work) -> Screened:
        """Say whether the tool may be called.

        Raises:
            NotYetKnown: Another worker may know better, and is waited for.
        """
        intent = work.intent
        name = intent.tool_name
        if intent.kind not in _KINDS_OF_TOOLS:
            return Rejected(f"unknown kind of intent: {intent.kind}")
        if name in self._refused_tools():
            return Rejected(f"the tool {name!r} is refused by the operator")
        tool = self._registry.get(name)
        if tool is None:
            return self._unless_waiting(f"unknown tool {name!r}")
        if not tool.side_effect:
            return Rejected(f"the tool {name!r} has no side effect: call it inline")
        try:
            return Runnable(tool, tool.parse_arguments(work.document or intent.args_json))
        except ToolArgumentsError as error:
            if intent.schema_digest in (b"", tool.schema_digest):
                return Rejected(str(error))
            return self._unless_waiting(str(error))

    def _unless_waiting(self, reason: str) -> Rejected:
        if self._wait_for_unknown:
            raise NotYetKnown(reason)
        return Rejected(reason)
