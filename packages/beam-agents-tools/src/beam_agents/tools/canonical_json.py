"""Canonical JSON: one sequence of bytes for each value, RFC 8785 with exact integers.

Wherever RFC 8785 (JCS) is defined the bytes are its own. It knows numbers only as
doubles; integers beyond 2^53 are written here in full, because an amount or an
identifier must arrive as it was sent. Encoding is a fixed point: `parse_json`
and `canonical_json` again give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection
from json.encoder import encode_basestring
from math import isfinite
from typing import TypeAlias, cast

from beam_agents.tools.doubles import ecmascript_double
from beam_agents.tools.errors import CanonicalJsonError
from beam_agents.tools.json_path import json_path

__all__ = ["MAX_DEPTH", "CanonicalJsonError", "JsonValue", "canonical_json", "parse_json"]

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | float | bool | None"

# As deep as the validator (pydantic-core) reads, so that what is written can be read.
MAX_DEPTH = 200


def canonical_json(value: object, *, default: Callable[[object], object] | None = None) -> bytes:
    """Encode a tree of dicts, lists, tuples, strings, numbers, booleans and None.

    Args:
        value: The tree.
        default: Opens up a value of any other type, as in `json.dumps`; raises
            `TypeError` where it cannot.

    Raises:
        CanonicalJsonError: For NaN, an infinity, a lone surrogate, a key that is no
            string, a cycle, more than 200 levels, or a value of another type.
    """
    if _is_plain(value, MAX_DEPTH):
        try:
            encoded = _PLAIN.encode(value).encode()
        except ValueError:  # a lone surrogate or an endless integer: found again below
            pass
        else:
            if encoded.isascii() or not _ASTRAL.search(encoded):
                return encoded
    try:
        return _Writer(default or _no_default).text(value).encode()
    except _Refused as refused:
        raise refused.error() from None
    except RecursionError:
        raise CanonicalJsonError("$", "nested deeper than the stack allows here") from None


def parse_json(text: str | bytes) -> JsonValue:
    """Read one JSON text (RFC 8259, in UTF-8), refusing what cannot be written canonically.

    Raises:
        CanonicalJsonError: For malformed text, duplicate keys, NaN, numbers beyond
            the range of a double, lone surrogates, or more than 200 levels.
    """
    return _Reader().read(text)


# --- writing ---------------------------------------------------------------------------------

# CPython's encoder in C is canonical for every tree that `_is_plain` accepts, but
# for two things: floats, and the order of keys beyond the Basic Multilingual Plane,
# where RFC 8785 sorts UTF-16 code units and Python sorts code points.
_PLAIN = json.JSONEncoder(
    ensure_ascii=False,
    check_circular=False,
    allow_nan=False,
    sort_keys=True,
    separators=(",", ":"),
)
_ASTRAL = re.compile(rb"[\xf0-\xf4]")
_SCALARS = frozenset({str, int, bool, type(None)})


def _is_plain(value: object, depth: int) -> bool:
    """Tell whether the tree has exact built-in types only, no float, and is not too deep."""
    if type(value) is dict:
        if any(type(key) is not str for key in value):
            return False
        return _are_plain(value.values(), depth)
    if type(value) is list or type(value) is tuple:
        return _are_plain(value, depth)
    return type(value) in _SCALARS


def _are_plain(members: Collection[object], depth: int) -> bool:
    # The types of all members at once: most containers hold scalars only.
    nested = set(map(type, members)) - _SCALARS
    if not nested:
        return depth > 0
    return depth > 1 and all(_is_plain(member, depth - 1) for member in members)


class _Refused(Exception):
    """Collects the path from the inside out while it travels up."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.path: list[str | int] = []

    def error(self) -> CanonicalJsonError:
        return CanonicalJsonError(json_path(reversed(self.path)), self.problem)


class _Writer:
    """Writes any tree, and knows where it is when it must refuse."""

    def __init__(self, default: Callable[[object], object]) -> None:
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
        if isinstance(value, _Fault):
            raise _Refused(value.problem)
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


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _integer(value: int) -> str:
    try:
        return int.__repr__(value)
    except ValueError:  # longer than sys.get_int_max_str_digits()
        raise _Refused("is an integer of too many digits") from None


def _double(value: float) -> str:
    if not isfinite(value):
        raise _Refused("NaN and infinities have no JSON form")
    return ecmascript_double(value)


# --- reading ---------------------------------------------------------------------------------


class _Fault:
    """Stands in the parsed tree for what must be refused, so that its path can be found."""

    def __init__(self, problem: str) -> None:
        self.problem = problem


class _Reader:
    """Reads one text with the parser in C; its hooks note what that parser lets pass."""

    def __init__(self) -> None:
        self._faulty = False

    def read(self, text: str | bytes) -> JsonValue:
        decoded = _decode(text)
        try:
            value = self._parse(decoded, int)
        except CanonicalJsonError:
            raise
        except ValueError:  # an integer with more digits than int() takes
            value = self._parse(decoded, self._digits)
        if self._faulty or _suspicious(decoded):
            canonical_json(value)  # raises for the first fault, and knows its path
        return cast("JsonValue", value)

    def _parse(self, text: str, parse_int: Callable[[str], object]) -> object:
        try:
            return json.loads(
                text,
                parse_int=parse_int,
                parse_float=self._double,
                parse_constant=self._constant,
                object_pairs_hook=self._object,
            )
        except json.JSONDecodeError as error:
            raise CanonicalJsonError("$", f"is not JSON: {error}") from None
        except RecursionError:
            raise CanonicalJsonError("$", f"nested deeper than {MAX_DEPTH} levels") from None

    def _object(self, pairs: list[tuple[str, object]]) -> object:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        return self._fault(f"has the key {twice!a} more than once")

    def _double(self, text: str) -> object:
        value = float(text)
        return value if isfinite(value) else self._fault("is beyond the range of a double")

    def _digits(self, text: str) -> object:
        try:
            return int(text)
        except ValueError:
            return self._fault("is an integer of too many digits")

    def _constant(self, name: str) -> object:
        return self._fault(f"{name} is not JSON")

    def _fault(self, problem: str) -> _Fault:
        self._faulty = True
        return _Fault(problem)


def _decode(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode()  # strictly UTF-8: json.loads would guess UTF-16 and UTF-32 as well
    except UnicodeDecodeError as error:
        raise CanonicalJsonError("$", f"is not UTF-8 at byte {error.start}") from None


def _suspicious(text: str) -> bool:
    """Tell whether the text could hold a lone surrogate, or be nested too deep."""
    return (
        text.count("{") + text.count("[") > MAX_DEPTH
        or _ESCAPED_SURROGATE.search(text) is not None
        or (not text.isascii() and _LONE_SURROGATE.search(text) is not None)
    )


_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
