"""Reads a result's payload as the type that the tool returned."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")

_MISMATCHES = 3


class MismatchedResult(ValueError):
    """The payload is not of the type; the message says where."""


def decode_result(payload: bytes, as_type: type[T]) -> T:
    """Decode what `encode_result` made of a value of this type; nothing is coerced.

    Args:
        payload: JSON.
        as_type: Whatever pydantic validates: a model, a dataclass, `list[Receipt]`.

    Raises:
        MismatchedResult: It is of another type.
    """
    hint: Any = as_type
    try:
        value: T = _adapter(hint).validate_json(payload, strict=True)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        told = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or 'the value'}: {each['msg']}"
            for each in problems[:_MISMATCHES]
        )
        name = getattr(hint, "__qualname__", repr(hint))
        raise MismatchedResult(f"it is not of type {name}: {told}") from None
    return value


@lru_cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint)
