"""A pydantic model as it serializes itself, but exactly, and the same in each process."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from beam_agents.tools.exact_text import EXACT, Exact, exact_text
from beam_agents.tools.json_writer import canonical_json


@dataclass(frozen=True, slots=True)
class Unwritable:
    """Stands in an opened model for what has no JSON form, until its path is known.

    Attributes:
        problem: What is wrong with it.
    """

    problem: str


def opened_model(model: BaseModel) -> object:
    """Return what a model is in JSON: sets sorted, durations and decimals exact.

    What has no JSON form is an `Unwritable` where it stands.

    Raises:
        Exception: Whatever its serializers raise.
    """
    values = model.model_dump(by_alias=True)
    try:
        written = model.model_dump(mode="json", by_alias=True)
    except Exception:
        unwritable: list[Unwritable] = []
        marked = _marked(values, unwritable)
        if unwritable:
            return marked
        raise
    return _exact(values, written)


def _exact(value: object, written: object) -> object:
    """Correct what pydantic wrote of a value; what a serializer of the author's wrote stays."""
    if isinstance(value, EXACT):
        return _exact_text(value) if written == to_jsonable_python(value) else written
    if not isinstance(value, Collection) or not isinstance(written, (dict, list)):
        return written
    if len(value) != len(written):
        return written
    # Both are in one order, also two dumps of the same set.
    if isinstance(value, Mapping) and isinstance(written, dict):
        pairs = zip(value.items(), written.items(), strict=True)
        return {_exact(a, key): _exact(b, each) for (a, b), (key, each) in pairs}
    if isinstance(value, Set) and isinstance(written, list):
        return sorted(map(_member, value, written), key=_sort_key)
    if isinstance(value, Sequence) and isinstance(written, list):
        return list(map(_exact, value, written))
    return written


def _member(value: object, written: object) -> object:
    """Correct a member of a set; a set in it may not be paired with what was written of it."""
    if isinstance(value, Set) and isinstance(written, list):
        return sorted(written, key=_sort_key)
    return _exact(value, written)


def _exact_text(value: Exact) -> object:
    try:
        return exact_text(value)
    except TypeError as error:
        return Unwritable(str(error))


def _sort_key(value: object) -> bytes:
    return canonical_json(value, default=lambda unwritable: None)


def _marked(value: object, unwritable: list[Unwritable]) -> object:
    """Copy a value, putting `Unwritable` for what cannot be written, and collect those."""
    if isinstance(value, Mapping):
        return {str(key): _marked(each, unwritable) for key, each in value.items()}
    if isinstance(value, (Set, Sequence)) and not isinstance(value, (str, bytes)):
        return [_marked(each, unwritable) for each in value]
    try:
        return to_jsonable_python(value)
    except Exception:  # an unknown type, or bytes that are no text
        unwritable.append(Unwritable(f"{type(value).__qualname__} has no JSON form"))
        return unwritable[-1]
