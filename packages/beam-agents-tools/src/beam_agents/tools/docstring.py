"""Takes a tool's description, and those of its parameters, from its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent, indent

_HEADINGS = ("Args:", "Arguments:", "Parameters:", "Params:")


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
            parsed = parse(_with_summary_line(docstring))
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


def _with_summary_line(docstring: str) -> str:
    """Put a section that stands in the first line where the parser looks for sections.

    The first line has lost its indentation, which is what tells a heading from its text.
    """
    heading, _, rest = docstring.partition("\n")
    if heading.strip() not in _HEADINGS:
        return docstring
    body = dedent(rest).strip("\n")
    # Deeper than what follows it, unless this section is all there is.
    return f"\n{heading.strip()}\n{body if body.startswith(' ') else indent(body, '    ')}"
