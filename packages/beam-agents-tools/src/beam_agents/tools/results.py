"""Turns what a tool returned into the payload of its result."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from uuid import UUID

from pydantic import BaseModel

from beam_agents.tools.errors import CanonicalJsonError, ToolResultError
from beam_agents.tools.exact_text import EXACT, exact_text
from beam_agents.tools.json_writer import canonical_json
from beam_agents.tools.model_results import Unwritable, opened_model

_KNOWN = (Enum, BaseModel, UUID, *EXACT)


def encode_result(value: object) -> bytes:
    """Encode a tool's return value as canonical JSON: the same bytes in each process.

    Besides what JSON knows, dataclasses, pydantic models, enums, dates and times,
    timedeltas, Decimals and UUIDs are encoded, at any depth. A model may hold all that
    pydantic serializes; its sets are sorted.

    Raises:
        ToolResultError: For anything else, with its path and type.
    """
    try:
        return canonical_json(value, default=_jsonable)
    except CanonicalJsonError as error:
        raise ToolResultError(error.path, error.problem) from error


def _jsonable(value: object) -> object:
    """Open up one value that JSON does not know.

    Raises:
        TypeError: It has no JSON form; the message says why.
    """
    if isinstance(value, Unwritable):
        raise TypeError(value.problem)
    if isinstance(value, EXACT):
        return exact_text(value)
    if isinstance(value, type) or not (isinstance(value, _KNOWN) or is_dataclass(value)):
        raise TypeError(f"{type(value).__qualname__} has no JSON form")
    try:
        return _opened(value)
    except Exception as error:  # a model's serializers are the author's, and may raise anything
        raise TypeError(f"{type(value).__qualname__} does not serialize: {error}") from error


def _opened(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, BaseModel):
        return opened_model(value)
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return str(value)
