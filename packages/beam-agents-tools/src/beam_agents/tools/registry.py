"""The tools that an agent may ask for, and that an effector performs: one set for both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from difflib import get_close_matches
from typing import Any, TypeAlias

from beam_agents.tools.decorator import ToolDecorator
from beam_agents.tools.definition import Tool
from beam_agents.tools.errors import DuplicateToolError, RegistryError, UnknownToolError

Lifespan: TypeAlias = "AbstractAsyncContextManager[Any]"


class ToolRegistry:
    """Tools by name.

    Args:
        tools: The first tools.
        lifespan: An async context manager, or a function that makes one. The
            effector enters it on its loop before the first tool and leaves it after
            the last: pools and clients live there.

    Raises:
        DuplicateToolError: Two of the tools have one name.
    """

    def __init__(
        self, *tools: Tool, lifespan: Lifespan | Callable[[], Lifespan] | None = None
    ) -> None:
        self._tools: dict[str, Tool] = {}
        self._lifespan = lifespan
        self.tool = ToolDecorator(self.register)
        for each in tools:
            self.register(each)

    @classmethod
    def load(cls, path: str) -> ToolRegistry:
        """Import the registry that `module:attribute` names.

        Raises:
            RegistryPathError: The path has another form.
            RegistryImportError: The module cannot be imported; the message ends
                with the traceback of its own frames.
            RegistryAttributeError: The module has no such attribute.
            RegistryTypeError: The attribute is something else.
        """
        from beam_agents.tools.registry_path import load

        return load(path, cls)

    def register(self, tool: Tool) -> Tool:
        """Add a tool. Adding the same one again changes nothing.

        Raises:
            DuplicateToolError: Another tool has the name; the message has both places.
        """
        if not isinstance(tool, Tool):
            raise RegistryError(f"{tool!r} is no tool: decorate it with @tool first")
        known = self._tools.setdefault(tool.name, tool)
        if known is not tool:
            raise DuplicateToolError(
                f"two tools are named {tool.name!r}: one at {known.place}, one at {tool.place}; "
                "give one of them another name="
            )
        return tool

    def lifespan(self) -> Lifespan:
        """Return what to enter around all uses of the tools."""
        if self._lifespan is None:
            return nullcontext()
        given = self._lifespan
        if isinstance(given, AbstractAsyncContextManager):
            # One that `asynccontextmanager` made can be entered once; as a decorator it makes
            # itself anew for each call, and so it does here for each run of an effector.
            anew: Callable[[], Lifespan] = getattr(given, "_recreate_cm", lambda: given)
            return anew()
        return given()

    def manifest(self) -> dict[str, dict[str, object]]:
        """Describe the tools by name, in JSON values, so that two sides can be compared."""
        return {name: self._tools[name].manifest() for name in sorted(self._tools)}

    def __getitem__(self, name: str) -> Tool:
        try:
            return self._tools[name]
        except KeyError:
            raise UnknownToolError(self._unknown(name)) from None

    def get(self, name: str) -> Tool | None:
        """Return the tool of this name, if there is one."""
        return self._tools.get(name)

    def _unknown(self, name: str) -> str:
        close = get_close_matches(name, self._tools)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {sorted(self._tools)}"
        return f"the registry has no tool {name!r}; {hint}"

    def __contains__(self, tool: object) -> bool:
        """Tell whether a tool, or a tool of this name, is here."""
        if isinstance(tool, Tool):
            return self._tools.get(tool.name) is tool
        return tool in self._tools

    def __iter__(self) -> Iterator[Tool]:
        """Iterate over the tools, in the order in which they were registered."""
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"ToolRegistry({', '.join(map(repr, self._tools))})"
