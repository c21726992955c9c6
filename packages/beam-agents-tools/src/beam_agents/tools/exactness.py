"""Refuses the few values that the validator takes although the published schema excludes them.

It is the schema that counts: a model reads it, and a person approved arguments by
it. From a schema a check is made that visits its loose places and nothing else;
most schemas have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from beam_agents.tools.json_reader import JsonValue
from beam_agents.tools.loose_places import (
    is_allowed,
    is_loose,
    is_number,
    may_hold_huge_integer,
    problems,
)
from beam_agents.tools.problems import json_type
from beam_agents.tools.schema_nodes import Node, children, reference

Place: TypeAlias = tuple[str | int, ...]
Finding: TypeAlias = tuple[Place, str]
Check: TypeAlias = Callable[[JsonValue, Place], Iterator[Finding]]


class Exactness:
    """Looks at documents beside the validator, where the two can differ."""

    def __init__(self, schema: Node) -> None:
        self._always = _Compiler(schema, is_loose).check
        # Numbers are loose as well, but only for integers of more than 308 digits.
        self._with_numbers = _Compiler(schema, lambda n: is_loose(n) or is_number(n)).check

    def findings(self, document: JsonValue, text: bytes) -> list[Finding]:
        """Return what the schema excludes in a document, and where.

        Args:
            document: The parsed text.
            text: It as it was validated.
        """
        check = self._always
        if self._with_numbers is not None and may_hold_huge_integer(text):
            check = self._with_numbers
        return [] if check is None else list(check(document, ()))


class _Compiler:
    """Makes a check of a schema; None where there is nothing to check."""

    def __init__(self, schema: Node, is_place: Callable[[Node], bool]) -> None:
        self._definitions: Node = schema.get("$defs", {})
        self._is_place = is_place
        self._checked = self._definitions_with_places()
        self._checks: dict[str, Check] = {}
        self.check = self._compile(schema)
        self._checks = {name: self._made(self._definitions[name]) for name in self._checked}

    def _definitions_with_places(self) -> frozenset[str]:
        """Return the names of the definitions that hold such a place, or refer to one that does."""
        found: frozenset[str] = frozenset()
        while True:
            more = {n for n, node in self._definitions.items() if self._has_place(node, found)}
            if more == found:
                return found
            found = frozenset(more)

    def _has_place(self, node: Node, definitions: frozenset[str]) -> bool:
        return (
            reference(node) in definitions
            or self._is_place(node)
            or any(self._has_place(each, definitions) for each in children(node))
        )

    def _compile(self, node: object) -> Check | None:
        if not isinstance(node, Mapping) or not self._has_place(node, self._checked):
            return None
        name = reference(node)
        if name is not None:
            return lambda value, place: self._checks[name](value, place)
        return self._made(node)

    def _made(self, node: Node) -> Check:
        parts = [
            lambda value, place: ((place, problem) for problem in problems(node, value)),
            self._of_alternatives(_alternatives(node)),
            self._of_members(node),
            self._of_items(node),
        ]
        return _all_of([part for part in parts if part is not None])

    def _of_alternatives(self, nodes: Sequence[Node]) -> Check | None:
        alternatives = [(node, self._compile(node)) for node in nodes]
        if all(check is None for _, check in alternatives):
            return None

        def check(value: JsonValue, place: Place) -> Iterator[Finding]:
            fitting = [each for node, each in alternatives if self._fits(node, value)]
            if not fitting:
                yield place, f"expected one of the alternatives, found {json_type(value)}"
                return
            findings = [list(each(value, place)) if each else [] for each in fitting]
            if all(findings):
                yield from findings[0]

        return check

    def _of_members(self, node: Node) -> Check | None:
        properties: Node = node.get("properties", {})
        named = {key: each for key in properties if (each := self._compile(properties[key]))}
        others = self._compile(_schema_of_others(node))
        if not named and others is None:
            return None

        def check(value: JsonValue, place: Place) -> Iterator[Finding]:
            if not isinstance(value, dict):
                return
            for key, member in value.items():
                each = named.get(key) if key in properties else others
                if each is not None:
                    yield from each(member, (*place, key))

        return check

    def _of_items(self, node: Node) -> Check | None:
        first = [self._compile(each) for each in node.get("prefixItems", ())]
        rest = self._compile(node.get("items"))
        if rest is None and not any(first):
            return None

        def check(value: JsonValue, place: Place) -> Iterator[Finding]:
            if not isinstance(value, list):
                return
            for index, member in enumerate(value):
                each = first[index] if index < len(first) else rest
                if each is not None:
                    yield from each(member, (*place, index))

        return check

    def _fits(self, node: Node, value: JsonValue) -> bool:
        """Tell whether a value is of an alternative's shape; its members are checked later."""
        while (name := reference(node)) is not None:
            node = self._definitions.get(name, {})
        alternatives = _alternatives(node)
        if alternatives:
            return any(self._fits(each, value) for each in alternatives)
        if not _is_of_type(value, node.get("type")) or not is_allowed(node, value):
            return False
        if not isinstance(value, dict) or "properties" not in node:
            return True
        properties = node["properties"]
        return set(node.get("required", ())) <= set(value) <= set(properties) and all(
            is_allowed(properties[key], member) for key, member in value.items()
        )


def _all_of(checks: Sequence[Check]) -> Check:
    def check(value: JsonValue, place: Place) -> Iterator[Finding]:
        for each in checks:
            yield from each(value, place)

    return check


def _alternatives(node: Node) -> list[Node]:
    found: list[Node] = node.get("anyOf") or node.get("oneOf") or []
    return found


def _schema_of_others(node: Node) -> object:
    """Return the schema of members that are not named."""
    patterned = node.get("patternProperties")
    return next(iter(patterned.values())) if patterned else node.get("additionalProperties")


def _is_of_type(value: JsonValue, name: str | None) -> bool:
    if name is None:
        return True
    found = json_type(value)
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return found == name or (name == "number" and found == "integer")
