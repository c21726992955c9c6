"""Refuses the few values that the validator takes although the published schema excludes them.

Pydantic compares an int Literal or Enum with `==`, so that `true` is 1; it merges
equal members of a set, takes an integer beyond all doubles for infinity, and reads
several spellings of a date, a duration, a UUID or a decimal. The published schema
allows none of that, and it is the schema that counts. Most schemas have no such
place, and then nothing is looked at.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from beam_agents.tools.canonical_json import JsonValue, canonical_json
from beam_agents.tools.problems import json_type
from beam_agents.tools.published import DECIMAL_PATTERN, PATTERNS

Node: TypeAlias = Mapping[str, Any]
Place: TypeAlias = tuple[str | int, ...]
Finding: TypeAlias = tuple[Place, str]

_SPELLINGS = {
    **{pattern: name for name, pattern in PATTERNS.items()},
    DECIMAL_PATTERN: "decimal number",
}
_MAX_DOUBLE = int(sys.float_info.max)
_COMPILED = {pattern: re.compile(pattern) for pattern in _SPELLINGS}


class Exactness:
    """Looks at documents beside the validator.

    Attributes:
        needed: Whether the schema has any place where the two differ.
    """

    def __init__(self, schema: Node) -> None:
        self._schema = schema
        self._definitions: Node = schema.get("$defs", {})
        self.needed = _has_loose_place(schema)

    def findings(self, document: JsonValue) -> Iterator[Finding]:
        """Yield what the schema excludes, and where."""
        return self._examine(self._schema, document, ())

    def _examine(self, node: Node, value: JsonValue, place: Place) -> Iterator[Finding]:
        node = self._resolved(node)
        alternatives = _alternatives(node)
        if alternatives:
            yield from self._examine_union(alternatives, value, place)
        yield from ((place, problem) for problem in _problems(node, value))
        if isinstance(value, dict):
            for key, member in value.items():
                yield from self._examine(_member_schema(node, key), member, (*place, key))
        elif isinstance(value, list):
            for index, member in enumerate(value):
                yield from self._examine(_item_schema(node, index), member, (*place, index))

    def _examine_union(
        self, alternatives: list[Node], value: JsonValue, place: Place
    ) -> Iterator[Finding]:
        fitting = [each for each in alternatives if self._fits(each, value)]
        if not fitting:
            yield place, f"expected one of the alternatives, found {json_type(value)}"
            return
        findings = [list(self._examine(each, value, place)) for each in fitting]
        if all(findings):
            yield from findings[0]

    def _fits(self, node: Node, value: JsonValue) -> bool:
        """Tell whether a value is of an alternative's shape; its members are examined later."""
        node = self._resolved(node)
        alternatives = _alternatives(node)
        if alternatives:
            return any(self._fits(each, value) for each in alternatives)
        if not _is_of_type(value, node.get("type")) or not _is_allowed(node, value):
            return False
        if not isinstance(value, dict) or "properties" not in node:
            return True
        properties = node["properties"]
        return set(node.get("required", ())) <= set(value) <= set(properties) and all(
            _is_allowed(properties[key], member) for key, member in value.items()
        )

    def _resolved(self, node: Node) -> Node:
        while "$ref" in node:
            node = self._definitions[node["$ref"].rpartition("/")[2]]
        return node


def _has_loose_place(node: object) -> bool:
    if isinstance(node, Mapping):
        return _is_loose(node) or any(map(_has_loose_place, node.values()))
    return isinstance(node, list) and any(map(_has_loose_place, node))


def _is_loose(node: Node) -> bool:
    return (
        node.get("type") == "number"
        or node.get("uniqueItems") is True
        or node.get("pattern") in _SPELLINGS
        or any(not isinstance(each, str) for each in _allowed(node) or ())
    )


def _problems(node: Node, value: JsonValue) -> Iterator[str]:
    """Judge one value by the keywords in which the validator is looser."""
    if not _is_allowed(node, value):
        expected = " or ".join(map(repr, _allowed(node) or ()))
        yield f"expected {expected}, found another {json_type(value)}"
    if node.get("uniqueItems") is True and isinstance(value, list) and _has_equal_members(value):
        yield "has equal members, and is a set"
    if node.get("type") == "number" and isinstance(value, int) and abs(value) > _MAX_DOUBLE:
        yield "is beyond the range of a double"
    pattern = node.get("pattern")
    if pattern in _SPELLINGS and isinstance(value, str) and not _COMPILED[pattern].fullmatch(value):
        yield f"expected a {_SPELLINGS[pattern]}, found another string"


def _has_equal_members(members: list[JsonValue]) -> bool:
    return len({canonical_json(member) for member in members}) < len(members)


def _alternatives(node: Node) -> list[Node]:
    found: list[Node] = node.get("anyOf") or node.get("oneOf") or []
    return found


def _allowed(node: Node) -> list[JsonValue] | None:
    """Return the values of an `enum` or `const`, if there is one."""
    if "const" in node:
        return [node["const"]]
    found: list[JsonValue] | None = node.get("enum")
    return found


def _is_allowed(node: Node, value: JsonValue) -> bool:
    allowed = _allowed(node)
    return allowed is None or any(
        each == value and isinstance(each, bool) is isinstance(value, bool) for each in allowed
    )


def _member_schema(node: Node, key: str) -> Node:
    member = node.get("properties", {}).get(key)
    if member is None:
        member = next(iter(node.get("patternProperties", {}).values()), None)
    if member is None:
        member = node.get("additionalProperties")
    return member if isinstance(member, Mapping) else {}


def _item_schema(node: Node, index: int) -> Node:
    prefix = node.get("prefixItems", ())
    found = prefix[index] if index < len(prefix) else node.get("items")
    return found if isinstance(found, Mapping) else {}


def _is_of_type(value: JsonValue, name: str | None) -> bool:
    if isinstance(value, bool):
        return name in (None, "boolean")
    if name == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return name is None or isinstance(value, _PYTHON_TYPES[name])


_PYTHON_TYPES: dict[str, Any] = {
    "null": type(None),
    "boolean": (),
    "number": (int, float),
    "string": str,
    "array": list,
    "object": dict,
}
