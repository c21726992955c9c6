"""The places of a schema where the validator takes more than the schema allows.

Pydantic compares an int Literal or Enum with `==`, so that `true` is 1; it merges
equal members of a set, takes an integer beyond all doubles for infinity, and reads
several spellings of a date, a duration, a UUID or a decimal.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from beam_agents.tools.json_reader import JsonValue
from beam_agents.tools.json_writer import canonical_json
from beam_agents.tools.problems import json_type
from beam_agents.tools.published import DECIMAL_PATTERN, PATTERNS
from beam_agents.tools.schema_nodes import Node

_SPELLINGS = {
    **{pattern: name for name, pattern in PATTERNS.items()},
    DECIMAL_PATTERN: "decimal number",
}
_COMPILED = {pattern: re.compile(pattern) for pattern in _SPELLINGS}
_MAX_DOUBLE = int(sys.float_info.max)
_DIGITS_BEYOND_DOUBLES = 309
_HUGE_INTEGER = re.compile(rb"[0-9]{%d}" % _DIGITS_BEYOND_DOUBLES)


def is_loose(node: Node) -> bool:
    """Tell whether a node is such a place itself; numbers aside, which a text can rule out."""
    return (
        node.get("uniqueItems") is True
        or node.get("pattern") in _SPELLINGS
        or any(not isinstance(each, str) for each in allowed_values(node) or ())
    )


def is_number(node: Node) -> bool:
    """Tell whether a node takes doubles."""
    return node.get("type") == "number"


def may_hold_huge_integer(text: bytes) -> bool:
    """Tell whether a text has enough digits in a row for an integer beyond all doubles."""
    # Such a row has a digit at one of these places, wherever it stands.
    sample = text[_DIGITS_BEYOND_DOUBLES - 1 :: _DIGITS_BEYOND_DOUBLES]
    return any(map(b"0123456789".__contains__, sample)) and bool(_HUGE_INTEGER.search(text))


def problems(node: Node, value: JsonValue) -> Iterator[str]:
    """Judge one value, not its members, by the keywords in which the validator is looser."""
    if not is_allowed(node, value):
        expected = " or ".join(map(repr, allowed_values(node) or ()))
        yield f"expected {expected}, found another {json_type(value)}"
    if node.get("uniqueItems") is True and isinstance(value, list) and _has_equal_members(value):
        yield "has equal members, and is a set"
    if is_number(node) and isinstance(value, int) and abs(value) > _MAX_DOUBLE:
        yield "is beyond the range of a double"
    pattern = node.get("pattern")
    if pattern in _SPELLINGS and isinstance(value, str) and not _COMPILED[pattern].fullmatch(value):
        yield f"expected a {_SPELLINGS[pattern]}, found another string"


def allowed_values(node: Node) -> list[JsonValue] | None:
    """Return the values of an `enum` or `const`, if there is one."""
    if "const" in node:
        return [node["const"]]
    found: list[JsonValue] | None = node.get("enum")
    return found


def is_allowed(node: Node, value: JsonValue) -> bool:
    """Tell whether a value is one of the `enum` or `const`, if there is one."""
    allowed = allowed_values(node)
    return allowed is None or any(
        each == value and isinstance(each, bool) is isinstance(value, bool) for each in allowed
    )


def _has_equal_members(members: list[JsonValue]) -> bool:
    return len({canonical_json(member) for member in members}) < len(members)
