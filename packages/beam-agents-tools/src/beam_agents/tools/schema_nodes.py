"""Walks a published schema from node to node, and never into a value or a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Node: TypeAlias = Mapping[str, Any]

_BY_NAME = ("properties", "patternProperties", "$defs")
_IN_ORDER = ("anyOf", "oneOf", "allOf", "prefixItems")
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


def reference(node: Node) -> str | None:
    """Return the name of the definition that a schema refers to, if it does."""
    found = node.get("$ref")
    return None if found is None else str(found).rpartition("/")[2]
