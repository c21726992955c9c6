"""Reads arrays and objects exactly: nothing in them is merged, and no name comes twice."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from pydantic_core import PydanticKnownError
from pydantic_core import core_schema as cs

from beam_agents.tools.core_nodes import Copy, Node, Place
from beam_agents.tools.exact_errors import equal_members
from beam_agents.tools.exact_scalars import Reader, changes_text, value_of

_ANY: Node = {"type": "any"}


# --- arrays ----------------------------------------------------------------------------------


def _array(node: Node, place: Place) -> Node:
    items = node.get("items_schema", _ANY)
    if isinstance(items, list):
        items = [place.item(index).copy(each) for index, each in enumerate(items)]
    else:
        items = place.item().copy(items)
    return {**node, "strict": False, "items_schema": items}


def _set(node: Node, place: Place) -> Node:
    items = node.get("items_schema", _ANY)
    if _is_unhashable(items, place):
        raise place.refuse("Python cannot hash all that this set could hold: use a list")
    listed: Any = {**_array(node, place), "type": "list"}
    if not place.strict:
        return {**listed, "type": node["type"]}
    made: Any = cs.no_info_after_validator_function(_distinct_reader(_SETS[node["type"]]), listed)
    return made  # type: ignore[no-any-return]


_SETS: dict[str, Callable[[list[object]], Collection[object]]] = {
    "set": set,
    "frozenset": frozenset,
}
_UNHASHABLE = ("any", "list", "deque", "set", "dict", "typed-dict", "ordered-dict", "counter")


def _is_unhashable(node: Node, place: Place) -> bool:
    node = place.resolved(node)
    kind = node["type"]
    if kind in ("model", "dataclass"):
        return node["cls"].__hash__ is None
    if kind in ("nullable", "default"):
        return _is_unhashable(node["schema"], place)
    if kind == "union":
        choices = (each[0] if isinstance(each, tuple) else each for each in node["choices"])
        return any(_is_unhashable(each, place) for each in choices)
    if kind == "tuple":
        return any(_is_unhashable(each, place) for each in node["items_schema"])
    return kind in _UNHASHABLE


def _distinct_reader(kind: Callable[[list[object]], Collection[object]]) -> Reader:
    """Make what makes a set of a list, and lets no member disappear in it."""

    def read(members: list[object]) -> Collection[object]:
        try:
            found = kind(members)
        except TypeError:
            raise PydanticKnownError("set_item_not_hashable") from None
        if len(found) < len(members):
            raise equal_members()
        return found

    return read


# --- objects ---------------------------------------------------------------------------------


def _mapping(node: Node, place: Place) -> Node:
    copied = {**node, "strict": False}
    if "keys_schema" in node:
        if not _is_exact_key(node["keys_schema"], place):
            raise place.refuse(
                "only strings as keys are exact: use str, or an Enum or Literal of strings"
            )
        copied["keys_schema"] = place.copy(node["keys_schema"])
    if "values_schema" in node:
        copied["values_schema"] = place.item().copy(node["values_schema"])
    return copied


def _is_exact_key(node: Node, place: Place) -> bool:
    """Tell whether two texts are always two keys."""
    node = place.resolved(node)
    match node["type"]:
        case "str":
            return not changes_text(node, place)
        case "literal":
            return all(isinstance(value_of(each), str) for each in node["expected"])
        case "enum":
            return all(isinstance(value_of(each), str) for each in node["members"])
        case kind:
            return bool(kind == "any")


def _object(node: Node, place: Place) -> Node:
    """Copy a typed dict, or the fields of a model or a dataclass."""
    place = place.within(node.get("config"))
    fields = node["fields"]
    if isinstance(fields, dict):
        copied: Any = {name: _field(each, place.member(name)) for name, each in fields.items()}
    else:
        copied = [_field(each, place.member(each["name"])) for each in fields]
    return {**node, "fields": copied}


def _field(node: Node, place: Place) -> Node:
    alias = node.get("validation_alias", "")
    if alias and place.is_parameter:
        raise place.refuse("has an alias, but arguments go by the names of parameters: rename it")
    if not isinstance(alias, str):
        raise place.refuse(
            "AliasChoices and AliasPath let arguments spell one field in several ways: use alias="
        )
    return {**node, "schema": place.copy(node["schema"])}


def _instance(node: Node, place: Place) -> Node:
    """Copy a model or a dataclass."""
    if node.get("custom_init"):
        raise place.refuse(
            "its own __init__ would convert what it is given: "
            "use model_post_init, or a model_validator with mode='after'"
        )
    inner = place.within(node.get("config")).copy(node["schema"])
    return {**node, "strict": False, "schema": inner}


def _named_tuple(node: Node, place: Place) -> Node:
    """Read an array, as published: pydantic would take an object as well."""
    array: Node = {"type": "list", "strict": False}
    return {"type": "chain", "steps": [array, {**_object(node, place), "strict": False}]}


CONTAINERS: dict[str, Copy] = {
    **dict.fromkeys(("list", "deque", "tuple"), _array),
    **dict.fromkeys(("set", "frozenset"), _set),
    **dict.fromkeys(("dict", "frozendict", "ordered-dict", "counter"), _mapping),
    **dict.fromkeys(("typed-dict", "model-fields", "dataclass-args"), _object),
    **dict.fromkeys(("model", "dataclass"), _instance),
    "named-tuple": _named_tuple,
}
