"""Reads scalars exactly: one value for each spelling, and `true` is never 1."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from math import isfinite
from typing import Any

from pydantic_core import PydanticKnownError, SchemaValidator
from pydantic_core import core_schema as cs

from beam_agents.tools.core_nodes import Copy, Node, Place
from beam_agents.tools.exact_errors import wrong_spelling
from beam_agents.tools.spellings import pattern_of

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
    return _by(Spelled(node, (), pattern_of(node))) if place.strict else node


def _decimal(node: Node, place: Place) -> Node:
    # As a number it has the digits of a double, whatever the text says beyond them.
    return _by(Spelled(node, (int, float), pattern_of(node) if place.strict else None))


class Spelled:
    """Reads a date, a time, a duration, a UUID or a decimal.

    Args:
        node: Of the type, with its constraints.
        numbers: What is converted to the type besides strings. Anything else must be an
            instance of it, which a validator of the author's has made.
        pattern: What strings must match, or None.
    """

    def __init__(self, node: Node, numbers: tuple[type, ...], pattern: str | None) -> None:
        alone: Any = {key: value for key, value in node.items() if key not in ("ref", "strict")}
        self._example = _EXAMPLES[node["type"]]
        self._numbers = numbers
        self._matches = re.compile(pattern).fullmatch if pattern else None
        self._validator = SchemaValidator(alone)

    def __call__(self, value: object) -> object:
        """Read one value."""
        if not isinstance(value, str):
            is_number = isinstance(value, self._numbers)
            return self._validator.validate_python(value, strict=not is_number)
        text: Any = value
        read: object = self._validator.validate_strings(text, strict=True)
        if self._matches and not self._matches(value):
            raise wrong_spelling(self._example)
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
    return _by(Listed(members)) if place.strict else node


class Listed:
    """Reads the values of a Literal or an Enum, each only as what it is.

    Args:
        members: The values, or members of an Enum.
    """

    def __init__(self, members: Iterable[object]) -> None:
        self._members: dict[tuple[type, object], object] = {}
        values = []
        for member in members:
            value = value_of(member)
            values.append(repr(value))
            self._members.setdefault((type(value), value), member)
            self._members.setdefault((type(member), member), member)
        self._expected = " or ".join(filter(None, [", ".join(values[:-1]), values[-1]]))

    def __call__(self, value: object) -> object:
        """Read one value."""
        try:
            return self._members[type(value), value]
        except (KeyError, TypeError):  # another one, or one that cannot be hashed
            raise PydanticKnownError("literal_error", {"expected": self._expected}) from None


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


def _by(reader: Callable[[Any], object]) -> Node:
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
