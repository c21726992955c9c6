"""Takes a tool's description, and those of its parameters, from its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Description:
    """What a docstring in Google's, NumPy's or Sphinx's style says.

    Attributes:
        text: All that comes before the sections.
        parameters: By name, what is said of them.
    """

    text: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, docstring: str | None) -> Description:
        """Read a docstring; one that cannot be parsed is taken whole."""
        if not docstring:
            return cls()
        from docstring_parser import ParseError, parse  # not needed to import a registry's types

        try:
            parsed = parse(docstring)
        except ParseError:
            return cls(inspect.cleandoc(docstring))
        return cls(
            (parsed.description or "").strip(),
            {
                each.arg_name.lstrip("*"): " ".join(each.description.split())
                for each in parsed.params
                if each.description
            },
        )
