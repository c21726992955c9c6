"""Turns what a tool returned into the payload of its result."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from beam_agents.tools.canonical_json import canonical_json
from beam_agents.tools.errors import CanonicalJsonError, ToolResultError

# The last ones as pydantic writes them: times in ISO 8601, decimals and UUIDs as strings.
_KNOWN = (Enum, BaseModel, datetime, date, time, timedelta, Decimal, UUID)


def encode_result(value: object) -> bytes:
    """Encode a tool's return value as canonical JSON.

    Besides what JSON knows, dataclasses, pydantic models, enums, datetimes,
    timedeltas, Decimals and UUIDs are encoded, at any depth.

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
    if isinstance(value, type) or not (isinstance(value, _KNOWN) or is_dataclass(value)):
        raise TypeError(f"{type(value).__qualname__} has no JSON form")
    if isinstance(value, Decimal) and not value.is_finite():
        raise TypeError("NaN and infinities have no JSON form")
    try:
        return _opened(value)
    except Exception as error:  # a model's serializers are the author's, and may raise anything
        raise TypeError(f"{type(value).__qualname__} does not serialize: {error}") from error


def _opened(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return to_jsonable_python(value)
