"""Reads JSON strictly: only what can be written canonically, and each key once."""

from __future__ import annotations

import json
from collections import Counter
from math import isfinite
from typing import TypeAlias, cast

from jiter import from_json

from beam_agents.tools.errors import CanonicalJsonError
from beam_agents.tools.json_writer import canonical_json
from beam_agents.tools.plainness import MAX_DEPTH, Plain, glance

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | float | bool | None"


def parse_json(text: str | bytes) -> JsonValue:
    """Read one JSON text (RFC 8259, in UTF-8), refusing what cannot be written canonically.

    Raises:
        CanonicalJsonError: For malformed text, duplicate keys, NaN, numbers beyond
            the range of a double, lone surrogates, or more than 200 levels.
    """
    return read_json(text)[0]


def read_json(text: str | bytes) -> tuple[JsonValue, Plain | None]:
    """Read a text as `parse_json` does, and say what kind of value it is.

    Returns:
        The value, and what makes it plain; None if it is not, or not known to be.
    """
    try:
        data = text if isinstance(text, bytes) else text.encode()
        value: JsonValue = from_json(data, allow_inf_nan=False)
    except ValueError:
        return _examined(text), None
    plain = glance(value)
    # Not plain may mean too deep, or infinite for having overflowed.
    if plain is None or _may_repeat_keys(data, plain.keys):
        value = _examined(text)
    return value, plain


def _may_repeat_keys(data: bytes, keys: int) -> bool:
    """Tell whether a text could have more keys than its value, some of them twice.

    After each key comes a colon, and right before that the key's quote or white space,
    so a text has at most as many keys as such colons. Those inside of strings may be
    counted too: then the keys are looked at one by one.
    """
    if data.count(b":") == keys:
        return False
    return sum(map(data.count, (b'":', b" :", b"\t:", b"\n:", b"\r:"))) > keys


# --- what is not plain, or not JSON ----------------------------------------------------------


class _Fault:
    """Stands in the parsed tree for what must be refused, until its path is known."""

    def __init__(self, problem: str) -> None:
        self.problem = problem


def _examined(text: str | bytes) -> JsonValue:
    """Read a text with Python's parser, which lets more pass, and refuse that with its path."""
    try:
        value = json.loads(
            _decoded(text),
            parse_int=_integer,
            parse_float=_double,
            parse_constant=lambda name: _Fault(f"{name} is not JSON"),
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        raise CanonicalJsonError("$", f"is not JSON: {error}") from None
    except RecursionError:
        raise CanonicalJsonError("$", f"nested deeper than {MAX_DEPTH} levels") from None
    canonical_json(value, default=_refuse)
    return cast("JsonValue", value)


def _decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode()  # strictly UTF-8: json.loads would guess UTF-16 and UTF-32 as well
    except UnicodeDecodeError as error:
        raise CanonicalJsonError("$", f"is not UTF-8 at byte {error.start}") from None


def _integer(text: str) -> object:
    try:
        return int(text)
    except ValueError:  # longer than sys.get_int_max_str_digits()
        return _Fault("is an integer of too many digits")


def _double(text: str) -> object:
    value = float(text)
    return value if isfinite(value) else _Fault("is beyond the range of a double")


def _object(pairs: list[tuple[str, object]]) -> object:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
    return _Fault(f"has the key {twice!a} more than once")


def _refuse(value: object) -> object:
    raise TypeError(value.problem if isinstance(value, _Fault) else f"{value!r} is no JSON")
