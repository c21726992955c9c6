"""Walks a published schema from node to node, and never into a value or a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Node: TypeAlias = Mapping[str, Any]

_BY_NAME = ("properties", "patternProperties", "$defs")
_CHOICES = ("anyOf", "oneOf", "allOf")
_IN_ORDER = (*_CHOICES, "prefixItems")
_SAID = ("title", "description", "examples")
_SINGLE = ("items", "additionalProperties", "propertyNames")


def children(node: Node) -> Iterator[Node]:
    """Yield the schemas that a schema is made of, without `true` and `false`."""
    found: list[object] = []
    for keyword in _BY_NAME:
        found += node.get(keyword, {}).values()
    for keyword in _IN_ORDER:
        found += node.get(keyword, ())
    found += map(node.get, _SINGLE)
    return (each for each in found if isinstance(each, Mapping))


def walk(node: Node) -> Iterator[Node]:
    """Yield a schema and all that it is made of."""
    yield node
    for child in children(node):
        yield from walk(child)


def without_explanations(node: Any) -> Any:
    """Copy a schema, leaving out what only explains it."""
    if not isinstance(node, Mapping):
        return node
    return {key: _bare(key, value) for key, value in node.items() if key not in _SAID}


def _bare(keyword: str, value: Any) -> Any:
    if keyword in _BY_NAME:
        return {name: without_explanations(each) for name, each in value.items()}
    if keyword in _IN_ORDER:
        return list(map(without_explanations, value))
    return without_explanations(value) if keyword in _SINGLE else value


def reference(node: Node) -> str | None:
    """Return the name of the definition that a schema refers to, if it does."""
    found = node.get("$ref")
    return None if found is None else str(found).rpartition("/")[2]


def nodes_at(schema: Node, place: Sequence[str | int]) -> Iterator[Node]:
    """Yield the schemas that a schema has for the value at a place, through all alternatives."""
    yield from _nodes_at(schema, place, schema.get("$defs", {}))


def _nodes_at(node: Node, place: Sequence[str | int], definitions: Node) -> Iterator[Node]:
    name = reference(node)
    alternatives = [each for keyword in _CHOICES for each in node.get(keyword, ())]
    if name is not None:
        alternatives.append(definitions.get(name, {}))
    for each in alternatives:
        yield from _nodes_at(each, place, definitions)
    if not place:
        yield node
    for each in _of_segment(node, place[0]) if place else ():
        yield from _nodes_at(each, place[1:], definitions)


def _of_segment(node: Node, segment: str | int) -> Iterator[Node]:
    """Yield the schemas of one member or item."""
    if isinstance(segment, int):
        first = node.get("prefixItems", ())
        found = first[segment] if segment < len(first) else node.get("items")
    else:
        found = node.get("properties", {}).get(segment, node.get("additionalProperties"))
    if isinstance(found, Mapping):
        yield found
