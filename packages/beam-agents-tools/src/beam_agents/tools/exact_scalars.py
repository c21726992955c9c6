"""Reads scalars exactly: one value for each spelling, and `true` is never 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from math import isfinite
from typing import Any, TypeAlias

from pydantic_core import PydanticKnownError, SchemaValidator
from pydantic_core import core_schema as cs

from beam_agents.tools.core_nodes import Copy, Node, Place
from beam_agents.tools.exact_errors import wrong_spelling
from beam_agents.tools.spellings import pattern_of

Reader: TypeAlias = Callable[[Any], object]

_EXAMPLES = {
    "date": "2025-03-01",
    "time": "12:30:00",
    "datetime": "2025-03-01T12:30:00Z",
    "timedelta": "P1DT2H",
    "uuid": "f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "decimal": "12.50",
}


def _as_it_is(node: Node, place: Place) -> Node:
    return node


def _strict(node: Node, place: Place) -> Node:
    return {**node, "strict": True} if place.strict else node


def _float(node: Node, place: Place) -> Node:
    return _strict({**node, "allow_inf_nan": False}, place)


def _bytes(node: Node, place: Place) -> Node:
    return {**node, "strict": False}  # of a string, which is what JSON has


def _string(node: Node, place: Place) -> Node:
    """Hold the constraints against the text as it was sent, before anything is stripped."""
    if not (place.strict and changes_text(node, place)):
        return _strict(node, place)
    sent = {key: value for key, value in node.items() if key not in (*_CHANGES, "ref")}
    unchanged = dict.fromkeys(_CHANGES, False)
    return _chain({**sent, **unchanged, "strict": True}, node)


def changes_text(node: Node, place: Place) -> bool:
    """Tell whether a string node hands on another text than it reads."""
    return any(node.get(each, place.config.get(f"str_{each}")) for each in _CHANGES)


_CHANGES = ("strip_whitespace", "to_lower", "to_upper")


# --- spelled ---------------------------------------------------------------------------------


def _spelled(node: Node, place: Place) -> Node:
    return _read_by(_spelled_reader(node, pattern_of(node))) if place.strict else node


def _decimal(node: Node, place: Place) -> Node:
    # As a number it has the digits of a double, whatever the text says beyond them.
    pattern = pattern_of(node) if place.strict else "(?s).*"
    return _read_by(_spelled_reader(node, pattern, numbers=(int, float)))


def _spelled_reader(node: Node, pattern: str, numbers: tuple[type, ...] = ()) -> Reader:
    """Make what reads a date, a time, a duration, a UUID or a decimal.

    Args:
        node: Of the type, with its constraints.
        pattern: What strings must match.
        numbers: What is converted to the type besides strings. Anything else must be an
            instance of it, which a validator of the author's has made.
    """
    alone: Any = {key: value for key, value in node.items() if key != "ref"}
    strictly = SchemaValidator({**alone, "strict": True})
    of_text: Any = strictly.validate_strings
    of_instance = strictly.validate_python
    of_number = SchemaValidator({**alone, "strict": False}).validate_python
    is_spelled = SchemaValidator(cs.str_schema(pattern=pattern, strict=True)).isinstance_python
    example = _EXAMPLES[node["type"]]

    def read(value: object) -> object:
        if is_spelled(value):
            return of_text(value)
        if isinstance(value, str):
            of_text(value)  # which may say better what is wrong
            raise wrong_spelling(example)
        return of_number(value) if isinstance(value, numbers) else of_instance(value)

    return read


# --- listed ----------------------------------------------------------------------------------


def _literal(node: Node, place: Place) -> Node:
    return _listed(node, place, node["expected"])


def _enum(node: Node, place: Place) -> Node:
    return _listed(node, place, node["members"])


def _listed(node: Node, place: Place, members: Sequence[object]) -> Node:
    if all(type(member) is str for member in members):
        return node
    for member in members:
        if not is_json_scalar(value_of(member)):
            raise place.refuse(
                f"{member!r} has no value that JSON can spell: "
                "give an Enum strings, numbers or bools, and a Literal strings, ints or bools"
            )
    return _read_by(_listed_reader(members)) if place.strict else node


def _listed_reader(members: Iterable[object]) -> Reader:
    """Make what reads the values of a Literal or an Enum, each only as what it is."""
    found: dict[tuple[type, object], object] = {}
    values = []
    for member in members:
        value = value_of(member)
        values.append(repr(value))
        found.setdefault((type(value), value), member)
        found.setdefault((type(member), member), member)
    expected = " or ".join(filter(None, [", ".join(values[:-1]), values[-1]]))

    def read(value: object) -> object:
        try:
            return found[type(value), value]
        except (KeyError, TypeError):  # another one, or one that cannot be hashed
            raise PydanticKnownError("literal_error", {"expected": expected}) from None

    return read


def value_of(member: object) -> object:
    """Return what stands for a member of a Literal or an Enum, as canonical JSON has it."""
    value = member.value if isinstance(member, Enum) else member
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return float(value) if isinstance(value, float) else value


def is_json_scalar(value: object) -> bool:
    """Tell whether JSON has a value that is neither an array nor an object."""
    if isinstance(value, float):
        return isfinite(value)
    return value is None or isinstance(value, (str, int))


def _read_by(reader: Reader) -> Node:
    made: Any = cs.no_info_plain_validator_function(reader)
    return made  # type: ignore[no-any-return]


def _chain(*steps: Node) -> Node:
    return {"type": "chain", "steps": list(steps)}


SCALARS: dict[str, Copy] = {
    **dict.fromkeys(("any", "none"), _as_it_is),
    **dict.fromkeys(("bool", "int", "url", "multi-host-url"), _strict),
    "float": _float,
    "bytes": _bytes,
    "str": _string,
    **dict.fromkeys(("date", "time", "datetime", "timedelta", "uuid"), _spelled),
    "decimal": _decimal,
    "literal": _literal,
    "enum": _enum,
}
