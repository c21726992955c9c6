"""Reads what holds other nodes together exactly: unions, the author's validators, references."""

from __future__ import annotations

from enum import Enum
from typing import Any

from beam_agents.tools.core_nodes import Copy, Node, Place
from beam_agents.tools.spellings import encoding_of


def _wrapper(node: Node, place: Place) -> Node:
    return {**node, "schema": place.copy(node["schema"])}


# --- functions -------------------------------------------------------------------------------


def _after(node: Node, place: Place) -> Node:
    copied = _wrapper(node, place)
    pattern = encoding_of(node) if place.strict else None
    return copied if pattern is None else _only_of({"pattern": pattern}, copied)


def _plain(node: Node, place: Place) -> Node:
    """Leave an author's function alone; pydantic's own publish strings, and may read more."""
    function: Any = node["function"]["function"]
    module = getattr(function, "__module__", None) or ""
    is_pydantics = module.partition(".")[0] == "pydantic"
    return _only_of({}, node) if place.strict and is_pydantics else node


def _only_of(constraints: Node, node: Node) -> Node:
    return _chained({"type": "str", "strict": True, **constraints}, node)


# --- alternatives ----------------------------------------------------------------------------


def _union(node: Node, place: Place) -> Node:
    choices = [
        (place.copy(each[0]), each[1]) if isinstance(each, tuple) else place.copy(each)
        for each in node["choices"]
    ]
    return {**node, "choices": choices}


def _tagged_union(node: Node, place: Place) -> Node:
    """Look for the values of an Enum's members, which are what JSON has as tags."""
    choices = {
        tag.value if isinstance(tag, Enum) else tag: place.copy(each)
        for tag, each in node["choices"].items()
    }
    return {**node, "strict": False, "choices": choices}


def _strict_one(node: Node, place: Place) -> Node:
    return place.copy(node["strict_schema" if place.strict else "lax_schema"])


def _of_json(node: Node, place: Place) -> Node:
    return place.copy(node["json_schema"])


# --- sequence and reference ------------------------------------------------------------------


def _chain(node: Node, place: Place) -> Node:
    """Copy the step that reads; those after it convert what has been read, as the author likes."""
    first, *others = node["steps"]
    for each in others:
        place.copy(each)  # only to refuse
    return _chained(place.copy(first), *others)


def _chained(*steps: Node) -> Node:
    return {"type": "chain", "steps": list(steps)}


def _definitions(node: Node, place: Place) -> Node:
    names = [each["ref"] for each in node["definitions"]]
    place.definitions.update(zip(names, node["definitions"], strict=True))
    copied = place.copy(node["schema"])
    met = [place.copied[name] for name in names if name in place.copied]
    return {**node, "schema": copied, "definitions": met}


def _reference(node: Node, place: Place) -> Node:
    name = node["schema_ref"]
    if name not in place.copied:
        place.copied[name] = {}  # so that a recursive one ends here
        place.copied[name] = place.copy(place.definitions[name])
    return node


STRUCTURE: dict[str, Copy] = {
    **dict.fromkeys(("nullable", "default", "custom-error"), _wrapper),
    **dict.fromkeys(("function-before", "function-wrap"), _wrapper),
    "function-after": _after,
    "function-plain": _plain,
    "union": _union,
    "tagged-union": _tagged_union,
    "lax-or-strict": _strict_one,
    "json-or-python": _of_json,
    "chain": _chain,
    "definitions": _definitions,
    "definition-ref": _reference,
}
