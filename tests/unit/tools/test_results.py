"""Results: what a tool may return, and how it is written."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_serializer
from pydantic.dataclasses import dataclass as pydantic_dataclass

from beam_agents.tools import ToolResultError, encode_result


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    ON = 1


class Name(str, enum.Enum):
    ANN = "ann"


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Line:
    sku: str
    color: Color = Color.RED
    parts: list[Line] = field(default_factory=list)


@pydantic_dataclass
class Checked:
    price: Decimal


class Money(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    amount: Decimal = Field(alias="Amount")
    lines: list[Line] = []
    at: datetime | None = None

    @field_serializer("amount")
    def two_digits(self, amount: Decimal) -> str:
        return f"{amount:.2f}"


class Holds(BaseModel):
    line: Line


NOON = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("value", "payload"),
    [
        (None, "null"),
        ({"b": [1, 2.5, True], "a": "x"}, '{"a":"x","b":[1,2.5,true]}'),
        ((1, "a"), '[1,"a"]'),
        (Point(1, 2), "[1,2]"),
        (10**30, str(10**30)),
        (Color.RED, '"red"'),
        (Level.ON, "1"),
        ({Name.ANN: Name.ANN}, '{"ann":"ann"}'),
        (NOON, '"2024-02-29T12:00:00Z"'),
        (date(2024, 2, 29), '"2024-02-29"'),
        (time(12, 30), '"12:30:00"'),
        (timedelta(days=1, hours=2), '"P1DT2H"'),
        (Decimal("12345678901234567890.10"), '"12345678901234567890.10"'),
        (UUID(int=7), '"00000000-0000-0000-0000-000000000007"'),
        (
            Line("a", parts=[Line("b")]),
            '{"color":"red","parts":[{"color":"red","parts":[],"sku":"b"}],"sku":"a"}',
        ),
        ([Holds(line=Line("a"))], '[{"line":{"color":"red","parts":[],"sku":"a"}}]'),
        (Checked(Decimal("1.10")), '{"price":"1.10"}'),
        (
            [Money(Amount=Decimal(1), at=NOON)],
            '[{"Amount":"1.00","at":"2024-02-29T12:00:00Z","lines":[]}]',
        ),
    ],
)
def test_a_result_is_canonical_json(value: object, payload: str) -> None:
    assert encode_result(value).decode() == payload


class Opaque:
    pass


class Holder(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    thing: Opaque


class Moody(BaseModel):
    n: int = 1

    @field_serializer("n")
    def never(self, n: int) -> str:
        raise RuntimeError("not today")


def cyclic() -> Line:
    line = Line("a")
    line.parts.append(line)
    return line


@pytest.mark.parametrize(
    ("value", "path", "problem"),
    [
        (Opaque(), "$", "Opaque has no JSON form"),
        (Opaque, "$", "type has no JSON form"),
        (Line, "$", "type has no JSON form"),
        ({"a": [Line("b", parts=[Opaque()])]}, "$.a[0].parts[0]", "Opaque has no JSON form"),  # type: ignore[list-item]
        ({"a": {1, 2}}, "$.a", "set has no JSON form"),
        ({"a": b"x"}, "$.a", "bytes has no JSON form"),
        ({1: 2}, "$", "has a key of type int: keys are strings"),
        ([float("nan")], "$[0]", "NaN and infinities have no JSON form"),
        ([Decimal("Infinity")], "$[0]", "NaN and infinities have no JSON form"),
        ({"a": "\ud800"}, "$.a", "has a lone surrogate, which UTF-8 cannot carry"),
        ([Moody()], "$[0]", "Moody does not serialize: "),
        ([Holder(thing=Opaque())], "$[0]", "Holder does not serialize: "),
    ],
)
def test_anything_else_is_refused_with_path_and_type(
    value: object, path: str, problem: str
) -> None:
    with pytest.raises(ToolResultError) as refused:
        encode_result(value)

    assert refused.value.path == path
    assert refused.value.problem.startswith(problem)


async def later() -> None: ...


def test_a_coroutine_that_nobody_awaited_is_refused() -> None:
    coroutine: Any = later()

    with pytest.raises(ToolResultError, match=r"result \$: coroutine has no JSON form"):
        encode_result(coroutine)

    coroutine.close()


def test_a_cycle_through_instances_is_refused() -> None:
    with pytest.raises(ToolResultError, match=r"result \$\.parts\[0\]\.parts: contains itself"):
        encode_result(cyclic())
