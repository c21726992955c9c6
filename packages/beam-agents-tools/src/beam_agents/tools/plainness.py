"""Tells at a glance whether CPython's own JSON encoder writes a value canonically.

It does for most: for trees of built-in types whose doubles are neither whole nor
very small nor very large, and these are the trees that arguments and results are
made of. Whatever is not plain is written, or refused, one value at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

# As deep as the validator (pydantic-core) reads, so that what is written can be read.
MAX_DEPTH = 200


class Plain(NamedTuple):
    """What was seen of a plain tree.

    Attributes:
        keys: How many keys all its objects have together.
        has_doubles: Whether it has any; all of them are ordinary.
        keys_ascend: Whether the keys of every object come in the order of code points.
    """

    keys: int
    has_doubles: bool
    keys_ascend: bool


class _NotPlain(Exception):
    pass


def glance(value: object) -> Plain | None:
    """Look through a tree; None if anything in it is not plain."""
    doubles: list[float] = []
    misplaced: list[str] = []
    try:
        keys = _count_keys((value,), MAX_DEPTH, doubles, misplaced)
    except _NotPlain:
        return None
    return Plain(keys, bool(doubles), not misplaced)


def _count_keys(
    members: Iterable[Any], depth: int, doubles: list[float], misplaced: list[str]
) -> int:
    """Count the keys beneath some values. Runs for every document: types are compared by `is`."""
    keys = 0
    for member in members:
        kind = type(member)
        if kind is str or kind is int or kind is bool or member is None:
            continue
        if kind is float:
            if not _is_ordinary(member):
                raise _NotPlain
            doubles.append(member)
        elif depth == 0:
            raise _NotPlain
        elif kind is dict:
            before = ""
            for key in member:
                if type(key) is not str:
                    raise _NotPlain
                if key < before:
                    misplaced.append(key)
                before = key
            keys += len(member) + _count_keys(member.values(), depth - 1, doubles, misplaced)
        elif kind is list or kind is tuple:
            keys += _count_keys(member, depth - 1, doubles, misplaced)
        else:
            raise _NotPlain
    return keys


def _is_ordinary(value: float) -> bool:
    """Tell whether Python lays a double out as ECMAScript does; see `doubles.py`."""
    return 1e-4 <= abs(value) < 1e16 and not value.is_integer()
