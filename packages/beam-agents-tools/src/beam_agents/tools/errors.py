"""The errors of this distribution: who must act, and what to do next."""

from __future__ import annotations


class ToolError(Exception):
    """Root of everything that `beam_agents.tools` raises."""


class CanonicalJsonError(ToolError, ValueError):
    """A value or a text has no canonical JSON form.

    Attributes:
        path: Where, as a JSON path such as `$.items[2].price`.
        problem: What is wrong there, without the offending value.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"
