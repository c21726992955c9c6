"""Writes canonical JSON, and says where it cannot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from json.encoder import encode_basestring
from math import isfinite

from beam_agents.tools.doubles import ecmascript_double
from beam_agents.tools.errors import CanonicalJsonError
from beam_agents.tools.json_path import json_path
from beam_agents.tools.plainness import MAX_DEPTH, glance

# CPython's encoder in C. What is plain it writes canonically, but for the order of
# keys beyond the Basic Multilingual Plane: RFC 8785 sorts UTF-16 code units.
_ENCODER = json.JSONEncoder(
    ensure_ascii=False,
    check_circular=False,
    allow_nan=False,
    sort_keys=True,
    separators=(",", ":"),
)
_ASTRAL = re.compile(rb"[\xf0-\xf4]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

Default = Callable[[object], object]


def canonical_json(value: object, *, default: Default | None = None) -> bytes:
    """Encode a tree of dicts, lists, tuples, strings, numbers, booleans and None.

    Args:
        value: The tree.
        default: Opens up a value of any other type, as in `json.dumps`; raises
            `TypeError` where it cannot.

    Raises:
        CanonicalJsonError: For NaN, an infinity, a lone surrogate, a key that is no
            string, a cycle, more than 200 levels, or a value of another type.
    """
    if glance(value) is not None:
        encoded = _encoded(value)
        if encoded is not None:
            return encoded
    try:
        return _Writer(default or _no_default).text(value).encode()
    except _Refused as refused:
        raise CanonicalJsonError(json_path(reversed(refused.path)), refused.problem) from None
    except RecursionError:
        raise CanonicalJsonError("$", "nested deeper than the stack allows here") from None


def _encoded(value: object) -> bytes | None:
    """Encode a plain value in C; None where that fails, or may not be canonical."""
    try:
        encoded = _ENCODER.encode(value).encode()
    except ValueError:  # a lone surrogate, or an integer of too many digits
        return None
    return encoded if encoded.isascii() or not _ASTRAL.search(encoded) else None


class _Refused(Exception):
    """Collects the path from the inside out while it travels up."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.path: list[str | int] = []


class _Writer:
    """Writes any tree, and knows where it is when it must refuse."""

    def __init__(self, default: Default) -> None:
        self._default = default
        self._open: set[int] = set()

    def text(self, value: object) -> str:
        if isinstance(value, str):
            return _string(value)
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return _integer(value)
        if isinstance(value, float):
            return _double(value)
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, (list, tuple)):
            return self._array(value)
        return self._other(value)

    def _object(self, value: dict[object, object]) -> str:
        self._enter(value)
        keys = _sorted_keys(value)
        members: list[str] = []  # grows one by one: on a refusal its length is the place
        try:
            for key in keys:
                members.append(f"{_string(key)}:{self.text(value[key])}")  # noqa: PERF401
        except _Refused as refused:
            refused.path.append(keys[len(members)])
            raise
        self._open.remove(id(value))
        return "{" + ",".join(members) + "}"

    def _array(self, value: list[object] | tuple[object, ...]) -> str:
        self._enter(value)
        members: list[str] = []
        try:
            for member in value:
                members.append(self.text(member))  # noqa: PERF401
        except _Refused as refused:
            refused.path.append(len(members))
            raise
        self._open.remove(id(value))
        return "[" + ",".join(members) + "]"

    def _other(self, value: object) -> str:
        try:
            opened = self._default(value)
        except TypeError as error:
            raise _Refused(str(error)) from error
        return self.text(opened)

    def _enter(self, value: object) -> None:
        if id(value) in self._open:
            raise _Refused("contains itself")
        if len(self._open) == MAX_DEPTH:
            raise _Refused(f"nested deeper than {MAX_DEPTH} levels")
        self._open.add(id(value))


def _no_default(value: object) -> object:
    raise TypeError(f"{type(value).__qualname__} has no JSON form")


def _sorted_keys(value: dict[object, object]) -> list[str]:
    keys = [key for key in value if isinstance(key, str)]
    if len(keys) != len(value):
        stranger = next(key for key in value if not isinstance(key, str))
        raise _Refused(f"has a key of type {type(stranger).__qualname__}: keys are strings")
    return sorted(keys, key=None if "".join(keys).isascii() else _utf16_units)


def _utf16_units(key: str) -> bytes:
    # RFC 8785 section 3.2.3. A lone surrogate is refused when its key is written.
    return key.encode("utf-16-be", "surrogatepass")


def _string(text: str) -> str:
    if not text.isascii() and _LONE_SURROGATE.search(text):
        raise _Refused("has a lone surrogate, which UTF-8 cannot carry")
    return encode_basestring(text)


def _integer(value: int) -> str:
    try:
        return int.__repr__(value)
    except ValueError:  # longer than sys.get_int_max_str_digits()
        raise _Refused("is an integer of too many digits") from None


def _double(value: float) -> str:
    if not isfinite(value):
        raise _Refused("NaN and infinities have no JSON form")
    return ecmascript_double(value)
