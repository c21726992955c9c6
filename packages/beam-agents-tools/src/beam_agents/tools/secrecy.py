"""Tells which arguments are secret, and keeps their defaults to ourselves."""

from __future__ import annotations

from typing import Any

from pydantic import Secret, SecretBytes, SecretStr

from beam_agents.tools.schema_nodes import Node, reference, walk


def takes_secret(core_schema: object, schema: Node) -> bool:
    """Tell whether anything in the arguments is marked as secret, at any depth.

    Args:
        core_schema: The validator's own, which knows pydantic's secret types.
        schema: The published one, in which fields of other types may be `writeOnly`.
    """
    return any(map(_is_marked, walk(schema))) or _makes_secret(core_schema)


def makes_secret(function: object) -> bool:
    """Tell whether this function, of a validator, wraps a value in a secret."""
    if isinstance(function, type):
        return issubclass(function, (Secret, SecretBytes, SecretStr))
    # `Secret[int]` leaves no other trace than the function that makes it.
    return getattr(function, "__qualname__", "").startswith(f"{Secret.__name__}.")


def without_secret_defaults(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop the defaults of what is secret, or holds a secret, from a schema, in place."""
    definitions: Node = schema.get("$defs", {})
    for node in walk(schema):
        if isinstance(node, dict) and "default" in node and _holds_marked(node, definitions):
            del node["default"]
    return schema


def _is_marked(node: Node) -> bool:
    return node.get("writeOnly") is True


def _holds_marked(node: Node, definitions: Node, seen: frozenset[str] = frozenset()) -> bool:
    for each in walk(node):
        name = reference(each)
        if _is_marked(each):
            return True
        if name is not None and name in definitions and name not in seen:
            seen |= {name}
            if _holds_marked(definitions[name], definitions, seen):
                return True
    return False


def _makes_secret(node: object) -> bool:
    if isinstance(node, dict):
        return any(map(_makes_secret, node.values()))
    if isinstance(node, (list, tuple)):
        return any(map(_makes_secret, node))
    return makes_secret(node)
