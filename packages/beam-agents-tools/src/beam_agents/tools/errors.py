"""The errors of this distribution: who must act, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class ToolError(Exception):
    """Root of everything that `beam_agents.tools` raises."""


# --- for the author of a tool ----------------------------------------------------------------


class ToolDefinitionError(ToolError, TypeError):
    """A function cannot be a tool as it stands; raised where it is decorated."""


class SideEffectToolError(ToolError, RuntimeError):
    """A tool that has a side effect was called directly: it must be staged with `ctx.act`."""


class OutcomeError(ToolError, ValueError):
    """What a tool says of its effect cannot be meant, such as a wait of less than nothing."""


class ToolResultError(ToolError, TypeError):
    """A tool returned what cannot be sent as JSON.

    Attributes:
        path: Where in the result, as a JSON path such as `$.lines[2].price`.
        problem: What is wrong there.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"result {self.path}: {self.problem}"


# --- for whoever wrote the arguments, usually a model ----------------------------------------


@dataclass(frozen=True, slots=True)
class ArgumentProblem:
    """One thing that is wrong with the arguments; never holds the value itself.

    Attributes:
        path: Where, as a JSON path such as `$.items[2].price`.
        problem: What was expected there, and the type of what was found.
    """

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class ToolArgumentsError(ToolError, ValueError):
    """The arguments are not what the tool's schema allows; the tool did not run.

    Attributes:
        problems: Every one of them, where the arguments were examined.
    """

    _SHOWN = 20

    def __init__(self, message: str, problems: Sequence[ArgumentProblem] = ()) -> None:
        super().__init__(message, problems)
        self.message = message
        self.problems = tuple(problems)

    def __str__(self) -> str:
        shown = [str(problem) for problem in self.problems[: self._SHOWN]]
        if len(self.problems) > self._SHOWN:
            shown.append(f"and {len(self.problems) - self._SHOWN} more")
        return f"{self.message}: {'; '.join(shown)}" if shown else self.message


class IntentInfoError(ToolError, ValueError):
    """No intent could be of these values; raised for whoever runs a tool by hand."""


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


# --- for whoever assembles tools -------------------------------------------------------------


class RegistryError(ToolError):
    """A registry cannot be what was asked for."""


class DuplicateToolError(RegistryError, ValueError):
    """Two tools want one name."""


class UnknownToolError(RegistryError, KeyError):
    """The registry has no tool of this name."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would quote the message


class RegistryPathError(RegistryError, ValueError):
    """A path to a registry is not of the form `module:attribute`."""


class RegistryImportError(RegistryError, ImportError):
    """The module of a registry cannot be imported."""


class RegistryAttributeError(RegistryError, AttributeError):
    """The module of a registry has no such attribute."""


class RegistryTypeError(RegistryError, TypeError):
    """What the path leads to is no `ToolRegistry`."""
