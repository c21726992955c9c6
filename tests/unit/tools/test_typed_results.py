"""What `encode_result` wrote is read back as the type that it was."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from beam_agents.tools import encode_result
from beam_agents.tools.typed_results import MismatchedResult, decode_result


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Line:
    sku: str
    price: Decimal


class Order(BaseModel):
    lines: list[Line]
    due: date | None = None


@pytest.mark.parametrize(
    ("value", "as_type"),
    [
        (Line("a", Decimal("42.10")), Line),
        (Order(lines=[Line("a", Decimal(1))], due=date(2026, 12, 1)), Order),
        ([Line("a", Decimal(1))], list[Line]),
        ({"a": timedelta(days=400)}, dict[str, timedelta]),
        (Colour.RED, Colour),
        (UUID(int=7), UUID),
        (4200, int),
        (2**70, int),
    ],
)
def test_a_value_survives_the_wire(value: Any, as_type: Any) -> None:
    assert decode_result(encode_result(value), as_type) == value


@pytest.mark.parametrize(
    ("payload", "as_type", "problem"),
    [
        (b'"4200"', int, "not of type int: the value: Input should be a valid integer"),
        (b'{"sku":"a"}', Line, "not of type Line: price: Field required"),
        (b'{"lines":[{"sku":1,"price":"1"}]}', Order, r"lines\.0\.sku: Input should be"),
        (b"not JSON", int, "Invalid JSON"),
    ],
)
def test_nothing_is_coerced_and_the_place_is_told(
    payload: bytes, as_type: Any, problem: str
) -> None:
    with pytest.raises(MismatchedResult, match=problem):
        decode_result(payload, as_type)


def test_a_mismatch_does_not_repeat_the_payload() -> None:
    with pytest.raises(MismatchedResult) as raised:
        decode_result(b'"a secret"', int)

    assert "secret" not in str(raised.value)
