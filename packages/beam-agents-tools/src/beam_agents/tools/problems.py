"""Puts a validator's errors in words: where, what was expected, and the type of what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic_core import ErrorDetails

from beam_agents.tools.errors import ArgumentProblem
from beam_agents.tools.json_path import json_path
from beam_agents.tools.json_reader import JsonValue
from beam_agents.tools.schema_nodes import Node, nodes_at
from beam_agents.tools.validator_text import authors_own, pydantics_own

_MISSING = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})
_OF_KEY = ("[key]",)
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})


@dataclass(frozen=True, slots=True)
class ProblemWriter:
    """Describes the errors of one tool's validator without the values.

    Attributes:
        schema: The published one.
        takes_secret: Whether there is a secret among the arguments. Then no validator
            of the author's is quoted: it sees its neighbours' values as well.
    """

    schema: Node
    takes_secret: bool

    def problem(self, error: ErrorDetails, arguments: JsonValue) -> ArgumentProblem:
        """Describe one error.

        Args:
            error: From a pydantic `ValidationError`, with its context.
            arguments: The document that was validated.
        """
        place = list(_place(error, arguments))
        path = json_path(place)
        if error["type"] in _MISSING:
            return ArgumentProblem(path, "is required")
        if error["type"] in _UNKNOWN:
            return ArgumentProblem(path, "is not known here")
        words = pydantics_own(error)
        if words is None and not self.takes_secret:
            words = authors_own(error)
        if error["loc"][-1:] == _OF_KEY:
            return ArgumentProblem(path, f"its key: {words or 'is not valid'}")
        found = json_type(_value_at(place, arguments))  # not of what it was converted to
        return ArgumentProblem(path, f"{words or self._expected(place, found)}, found {found}")

    def _expected(self, place: Sequence[str | int], found: str) -> str:
        """Say what the schema expects at a place, where there are no better words."""
        nodes = list(nodes_at(self.schema, place))
        formats = dict.fromkeys(each["format"] for each in nodes if "format" in each)
        if formats:
            return f"expected a valid {' or '.join(formats)}"
        types = dict.fromkeys(each["type"] for each in nodes if "type" in each)
        if not types or found in types or (found == "integer" and "number" in types):
            return "is not valid"
        return f"expected {' or '.join(types)}"


def json_type(value: object) -> str:
    """Name the JSON type of a parsed value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, (list, tuple)) else "object"


def _place(error: ErrorDetails, document: JsonValue) -> Iterator[str | int]:
    """Follow a pydantic location through the document, leaving out the names of union members."""
    here: object = document
    for segment in error["loc"]:
        if _is_member(here, segment):
            here = here[segment]  # type: ignore[index]
        elif error["type"] not in _MISSING or segment != error["loc"][-1]:
            continue
        yield segment


def _value_at(place: Sequence[str | int], document: JsonValue) -> object:
    here: object = document
    for segment in place:
        here = here[segment]  # type: ignore[index]
    return here


def _is_member(container: object, segment: str | int) -> bool:
    if isinstance(container, list):
        return isinstance(segment, int) and segment < len(container)
    return isinstance(container, dict) and segment in container
