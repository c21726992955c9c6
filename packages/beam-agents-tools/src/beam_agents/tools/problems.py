"""Puts a validator's errors in words: where, what was expected, and the type of what was found."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic_core import ErrorDetails

from beam_agents.tools.errors import ArgumentProblem
from beam_agents.tools.json_path import json_path
from beam_agents.tools.json_reader import JsonValue
from beam_agents.tools.schema_nodes import Node, children

_MISSING = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
_EXPECTED = "Input should be "


def argument_problem(
    error: ErrorDetails, arguments: JsonValue, secrets: frozenset[str]
) -> ArgumentProblem:
    """Describe one error without the value, nor a message that could repeat a secret one.

    Args:
        error: From a pydantic `ValidationError`.
        arguments: The document that was validated.
        secrets: Names of the members whose values must not appear.
    """
    place = list(_place(error, arguments))
    path = json_path(place)
    if error["type"] in _MISSING:
        return ArgumentProblem(path, "is required")
    if error["type"] in _UNKNOWN:
        return ArgumentProblem(path, "is not known here")
    found = json_type(error["input"])
    if not secrets.isdisjoint(map(str, place)):
        return ArgumentProblem(path, f"is not valid, found {found}")
    message = error["msg"]
    if message.startswith(_EXPECTED):
        message = f"expected {message.removeprefix(_EXPECTED)}"
    return ArgumentProblem(path, f"{message}, found {found}")


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


def secret_names(schema: Node) -> frozenset[str]:
    """Return the names of all members that a schema marks as secret, at any depth."""
    return frozenset(_secret_names(schema))


def _secret_names(node: Node) -> Iterator[str]:
    for name, member in node.get("properties", {}).items():
        if _is_secret(member):
            yield name
    for child in children(node):
        yield from _secret_names(child)


def _is_secret(node: Node) -> bool:
    """Tell whether a member is `writeOnly`, itself or in what it is made of."""
    return node.get("writeOnly") is True or any(map(_is_secret, children(node)))


def _place(error: ErrorDetails, document: JsonValue) -> Iterator[str | int]:
    """Follow a pydantic location through the document, leaving out the names of union members."""
    here: object = document
    for segment in error["loc"]:
        if _is_member(here, segment):
            here = here[segment]  # type: ignore[index]
        elif error["type"] not in _MISSING or segment != error["loc"][-1]:
            continue
        yield segment


def _is_member(container: object, segment: str | int) -> bool:
    if isinstance(container, list):
        return isinstance(segment, int) and segment < len(container)
    return isinstance(container, dict) and segment in container
