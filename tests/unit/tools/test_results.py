"""Results: what a tool may return, and how it is written."""

from __future__ import annotations

import enum
import os
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, field_serializer
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


QUITO = '"2024-02-29T00:00:00-05:30"'
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
        (timedelta(days=400), '"P400D"'),
        (timedelta(0), '"PT0S"'),
        (timedelta(seconds=-1.5), '"-PT1.5S"'),
        (timedelta(days=-400, microseconds=1), '"-P399DT23H59M59.999999S"'),
        (timedelta(hours=25, minutes=61, milliseconds=20), '"P1DT2H1M0.02S"'),
        (timedelta.max, '"P999999999DT23H59M59.999999S"'),
        (Decimal("4.2E+3"), '"4200"'),
        (Decimal("1E-9"), '"0.000000001"'),
        (Decimal("-0"), '"-0"'),
        (datetime(2024, 2, 29, tzinfo=timezone(timedelta(hours=-5, minutes=-30))), QUITO),
        (time(12, tzinfo=timezone.utc), '"12:00:00Z"'),
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


class Anything(BaseModel):
    it: Any


LONG_AGO = datetime(1850, 1, 1, tzinfo=timezone(timedelta(minutes=53, seconds=28)))


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
        ([Holder(thing=Opaque())], "$[0].thing", "Opaque has no JSON form"),
        ([Anything(it=[1, b"\xff"])], "$[0].it[1]", "bytes has no JSON form"),
        (Anything(it={"a": Decimal("NaN")}), "$.it.a", "NaN and infinities have no JSON form"),
        (Anything(it=[LONG_AGO]), "$.it[0]", "has a UTC offset with seconds"),
        ([LONG_AGO], "$[0]", "has a UTC offset with seconds"),
        ([LONG_AGO.timetz()], "$[0]", "has a UTC offset with seconds"),
        (time(12, tzinfo=ZoneInfo("Europe/Berlin")), "$", "has a time zone, and without a date"),
        (Decimal("1E+1000000"), "$", "is a decimal of too many digits"),
        ({"a": {UUID(int=7): 1}}, "$.a", "has a key of type UUID: keys are strings"),
        ({"a": {Color.RED: 1}}, "$.a", "has a key of type Color: keys are strings"),
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


# --- models ----------------------------------------------------------------------------------


class Sorted(BaseModel):
    names: set[str] = {"b", "c", "a"}
    waits: frozenset[tuple[str, timedelta]] = frozenset({("b", timedelta(400)), ("a", timedelta())})
    by_id: dict[UUID, set[str]] = {UUID(int=7): {"b", "a"}}
    by_wait: dict[timedelta, int] = {timedelta(days=400): 1}


def test_a_model_holds_what_pydantic_serializes_and_its_sets_are_sorted() -> None:
    assert encode_result([Sorted()]).decode() == (
        '[{"by_id":{"00000000-0000-0000-0000-000000000007":["a","b"]},"by_wait":{"P400D":1},'
        '"names":["a","b","c"],"waits":[["a","PT0S"],["b","P400D"]]}]'
    )


class Unlike(BaseModel):
    pair: tuple[int, int] = (1, 2)

    @field_serializer("pair", when_used="json")
    def more(self, pair: tuple[int, int]) -> list[int]:
        return [*pair, sum(pair)]


class OwnWords(BaseModel):
    model_config = ConfigDict(ser_json_timedelta="float")

    wait: timedelta = timedelta(days=400)
    price: Annotated[Decimal, PlainSerializer(lambda price: f"{price:.1e}", when_used="json")] = (
        Decimal(4200)
    )


def test_what_a_models_own_serializers_write_stays_as_it_is() -> None:
    assert encode_result(OwnWords()) == b'{"price":"4.2e+3","wait":34560000}'
    assert encode_result(Unlike()) == b'{"pair":[1,2,3]}'


PROGRAM = """
from dataclasses import dataclass
from pydantic import BaseModel
from beam_agents.tools import encode_result, tool

@dataclass
class Group:
    names: set[str]

class Model(BaseModel):
    names: set[str] = {"ann", "bob", "cid", "dee", "eve"}
    group: Group = Group({"ann", "bob", "cid", "dee", "eve"})

@tool
def find(model: Model, names: frozenset[str] = frozenset({"ann", "bob", "cid"})) -> None: ...

print(encode_result(Model()), find.schema, find.schema_digest)
"""


def printed_with_hash_seed(seed: int) -> str:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_results_and_schemas_are_the_same_bytes_in_each_process() -> None:
    printed = {printed_with_hash_seed(seed) for seed in (1, 2, 3)}

    assert len(printed) == 1
