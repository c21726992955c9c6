"""Whatever a type: it is read exactly as published, alone, in a union, beneath a validator."""

from __future__ import annotations

import enum
import json
from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import Path
from re import Pattern
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator
from pydantic import (
    AwareDatetime,
    Base64Bytes,
    Base64UrlStr,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    IPvAnyAddress,
    Json,
    NaiveDatetime,
    SecretStr,
    StringConstraints,
    Tag,
    WrapValidator,
    field_validator,
    model_validator,
)
from pydantic.types import UUID4
from typing_extensions import TypedDict

from beam_agents.tools import Tool, ToolArgumentsError, ToolDefinitionError, tool

UTC = timezone.utc


def taking(annotation: Any, **options: Any) -> Tool:
    """Make a tool of one argument, `value`."""

    def function(value: Any) -> None: ...

    function.__annotations__ = {"value": annotation}
    return tool(function, **options)


def accepted(annotation: Any, text: str, **options: Any) -> object:
    made = taking(annotation, **options)
    return made.parse_arguments(f'{{"value":{text}}}')["value"]


def refused(annotation: Any, text: str, **options: Any) -> str:
    with pytest.raises(ToolArgumentsError) as error:
        accepted(annotation, text, **options)
    return "; ".join(map(str, error.value.problems))


def excluded(annotation: Any, text: str) -> bool:
    """Tell whether the published schema excludes a value, as the validator does."""
    assert refused(annotation, text)
    judge = Draft202012Validator(taking(annotation).schema)
    return not judge.is_valid({"value": json.loads(text)})


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    OFF = 0
    ON = 1


class Share(enum.Enum):
    HALF = 0.5
    ALL = 1.0


class Forgiving(enum.Enum):
    A = "a"

    @classmethod
    def _missing_(cls, value: object) -> Forgiving:
        return cls.A


class Corner(enum.Enum):
    ORIGIN = (0, 0)


# --- the keys of a mapping -------------------------------------------------------------------

SHOUTED = Annotated[str, StringConstraints(to_upper=True)]


class Lowered(BaseModel):
    model_config = ConfigDict(str_to_lower=True)

    counts: dict[str, int]


@pytest.mark.parametrize(
    "key", [int, float, bool, Decimal, UUID, date, datetime, time, timedelta, bytes, Level, SHOUTED]
)
def test_a_key_that_several_texts_could_spell_is_a_definition_error(key: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="parameter 'value': only strings as keys"):
        taking(dict[key, int])


def test_keys_that_a_model_would_change_are_a_definition_error() -> None:
    with pytest.raises(ToolDefinitionError, match=r"parameter 'value', at value\.counts: only str"):
        taking(Lowered)


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (dict[str, int], '{"a":1,"A":2}', {"a": 1, "A": 2}),
        (dict[Color, int], '{"red":1}', {Color.RED: 1}),
        (dict[Literal["a", "b"], int], '{"a":1}', {"a": 1}),
        (dict[Literal[Color.RED], int], '{"red":1}', {Color.RED: 1}),
        (dict[Any, Any], '{"1":[1]}', {"1": [1]}),
        (defaultdict[str, list[date]], '{"a":["2024-01-01"]}', {"a": [date(2024, 1, 1)]}),
    ],
)
def test_keys_that_are_what_they_say_are_kept(annotation: Any, text: str, value: object) -> None:
    assert accepted(annotation, text) == value


# --- beneath a validator of the author's -----------------------------------------------------


class Point(NamedTuple):
    x: int
    on: date
    y: int = 0


@dataclass
class Line:
    sku: str
    on: date
    number: int = field(init=False, default=7)


class Order(BaseModel):
    line: Line
    when: datetime
    how_long: timedelta
    price: Decimal
    raw: bytes
    pair: tuple[int, str]
    colors: set[Color]
    level: Level
    kind: Literal[1, "a"]
    inner: Order | None = None


class CheckedBefore(Order):
    @model_validator(mode="before")
    @classmethod
    def look(cls, value: object) -> object:
        return value


class CheckedAround(Order):
    @model_validator(mode="wrap")
    @classmethod
    def look(cls, value: object, proceed: Any) -> Any:
        return proceed(value)


class FieldsChecked(Order):
    @field_validator("*", mode="before")
    @classmethod
    def look(cls, value: object) -> object:
        return value


ORDER = (
    '{"line":{"sku":"a","on":"2024-01-01"},"when":"2024-01-01T10:00:00Z","how_long":"PT5M",'
    '"price":"1.50","raw":"ab","pair":[1,"a"],"colors":["red"],"level":1,"kind":1,"inner":null}'
)
CHECKED = [
    CheckedBefore,
    CheckedAround,
    FieldsChecked,
    Annotated[Order, BeforeValidator(lambda value: value)],
    Annotated[Order, WrapValidator(lambda value, proceed: proceed(value))],
]


@pytest.mark.parametrize("annotation", CHECKED)
def test_beneath_a_validator_of_the_authors_everything_is_still_read(annotation: Any) -> None:
    order = accepted(annotation, ORDER)

    assert isinstance(order, Order)
    assert order.line == Line("a", date(2024, 1, 1))
    assert (order.when, order.how_long) == (
        datetime(2024, 1, 1, 10, tzinfo=UTC),
        timedelta(minutes=5),
    )
    assert (order.price, order.raw, order.pair) == (Decimal("1.50"), b"ab", (1, "a"))
    assert (order.colors, order.level, order.kind) == ({Color.RED}, Level.ON, 1)


@pytest.mark.parametrize("annotation", CHECKED)
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('"2024-01-01"', '"1700000000"'),
        ('"PT5M"', '"5 minutes"'),
        ('"1.50"', '"1_0"'),
        ('["red"]', '["red","red"]'),
        ('"level":1', '"level":true'),
        ('"kind":1', '"kind":true'),
        ('[1,"a"]', '["1","a"]'),
    ],
)
def test_beneath_a_validator_of_the_authors_nothing_is_coerced(
    annotation: Any, right: str, wrong: str
) -> None:
    assert right in ORDER
    assert refused(annotation, ORDER.replace(right, wrong))


def test_a_validator_of_the_authors_may_make_the_instance_itself() -> None:
    day = Annotated[date, BeforeValidator(lambda text: date.fromisoformat(text))]
    color = Annotated[Color, BeforeValidator(lambda text: Color(text.lower()))]

    assert accepted(day, '"2024-01-01"') == date(2024, 1, 1)
    assert accepted(color, '"RED"') is Color.RED


# --- unions ----------------------------------------------------------------------------------


class At(BaseModel):
    at: datetime


class Said(BaseModel):
    at: str


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (datetime | str, '"1700000000"', "1700000000"),
        (datetime | str, '"2024-01-01T00:00:00Z"', datetime(2024, 1, 1, tzinfo=UTC)),
        (str | date, '"2024-01-01"', date(2024, 1, 1)),
        (Decimal | str, '"1_0"', "1_0"),
        (Decimal | str, '"1e5"', "1e5"),
        (Decimal | str, '" 1"', " 1"),
        (Decimal | str, '"1.5"', Decimal("1.5")),
        (timedelta | str, '"1 day"', "1 day"),
        (UUID | str, f'"{UUID(int=7).hex}"', UUID(int=7).hex),
        (UUID | str, f'"{UUID(int=7)}"', UUID(int=7)),
        (float | str, '"NaN"', "NaN"),
        (Color | str, '"red"', Color.RED),
        (Color | str, '"RED"', "RED"),
        (set[int] | list[str], '["1"]', ["1"]),
        (set[int] | tuple[int, ...], "[1,1]", (1, 1)),
        (set[int] | tuple[int, ...], "[1,2]", {1, 2}),
        (At | Said, '{"at":"1700000000"}', Said(at="1700000000")),
        (bool | Literal[1], "1", 1),
        (Literal[True] | int, "1", 1),
        (Level | bool, "true", True),
        (float | int, "5", 5),
        (list[date] | dict[str, date], '{"a":"2024-01-01"}', {"a": date(2024, 1, 1)}),
    ],
)
def test_a_member_of_a_union_takes_only_what_it_takes_alone(
    annotation: Any, text: str, value: object
) -> None:
    got = accepted(annotation, text)

    assert got == value
    assert type(got) is type(value)


# --- what is listed --------------------------------------------------------------------------


class Cat(BaseModel):
    kind: Literal[Color.RED]
    lives: int


class Dog(BaseModel):
    kind: Literal[Color.BLUE]


def by_kind(value: Any) -> str:
    return "said" if isinstance(value, dict) and value.get("at") == "noon" else "at"


TAGGED = Annotated[Cat | Dog, Field(discriminator="kind")]
CHOSEN = Annotated[Annotated[At, Tag("at")] | Annotated[Said, Tag("said")], Discriminator(by_kind)]


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (Literal[Color.RED], '"red"', Color.RED),
        (Literal[Color.RED, 1, None, False], '"red"', Color.RED),
        (Literal[Color.RED, 1, None, False], "1", 1),
        (Literal[Color.RED, 1, None, False], "null", None),
        (Literal[Color.RED, 1, None, False], "false", False),
        (Share, "0.5", Share.HALF),
        (Share, "1", Share.ALL),
        (TAGGED, '{"kind":"red","lives":9}', Cat(kind=Color.RED, lives=9)),
        (TAGGED, '{"kind":"blue"}', Dog(kind=Color.BLUE)),
        (CHOSEN, '{"at":"noon"}', Said(at="noon")),
    ],
)
def test_what_is_listed_is_accepted(annotation: Any, text: str, value: object) -> None:
    got = accepted(annotation, text)

    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (Literal[Color.RED], '"blue"'),
        (Literal[Color.RED], "[]"),
        (Literal[0], "false"),
        (Literal[1, "a"], "true"),
        (Share, "true"),
        (Forgiving, '"b"'),
        (TAGGED, '{"kind":"green"}'),
        (list[Level], "[true]"),
    ],
)
def test_what_is_not_listed_is_excluded_and_refused(annotation: Any, text: str) -> None:
    assert excluded(annotation, text)


# --- sets ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sku:
    code: str


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (set[Decimal], '["1","1.0"]'),
        (set[UUID], f'["{UUID(int=10)}","{str(UUID(int=10)).upper()}"]'),
        (set[int | bool], "[1,true]"),
        (frozenset[float], "[9007199254740993,9007199254740992]"),
        (set[datetime], '["2024-01-01T00:00:00Z","2024-01-01T01:00:00+01:00"]'),
        (set[Sku], '[{"code":"a"},{"code":"a"}]'),
        (set[Color], '["red","red"]'),
        (frozenset[tuple[int, ...]], "[[1],[1]]"),
        (list[set[str]], '[["a","a"]]'),
    ],
)
def test_no_member_of_a_set_disappears(annotation: Any, text: str) -> None:
    assert "has equal members, and is a set, found array" in refused(annotation, text)


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (set[Decimal], '["1","2"]', {Decimal(1), Decimal(2)}),
        (frozenset[Sku], '[{"code":"a"}]', frozenset({Sku("a")})),
        (set[tuple[int, str]], '[[1,"a"],[2,"a"]]', {(1, "a"), (2, "a")}),
        (Annotated[set[int], Field(min_length=2)], "[1,2]", {1, 2}),
    ],
)
def test_sets_of_different_members_are_read(annotation: Any, text: str, value: object) -> None:
    assert accepted(annotation, text) == value


class Unhashable(BaseModel):
    a: int


@pytest.mark.parametrize("member", [list[int], dict[str, int], Any, Unhashable, str | list[str]])
def test_a_set_of_what_cannot_be_hashed_is_a_definition_error(member: Any) -> None:
    with pytest.raises(ToolDefinitionError, match=r"parameter 'value', at value\[\]: .* use a lis"):
        taking(list[set[member]])


# --- constraints that a schema can express ---------------------------------------------------

SHORT = Annotated[str, StringConstraints(strip_whitespace=True, max_length=3)]


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (AwareDatetime, '"2024-01-01T00:00:00"'),
        (NaiveDatetime, '"2024-01-01T00:00:00Z"'),
        (UUID4, f'"{UUID(int=7)}"'),
        (Base64Bytes, '"Y!Q=="'),
        (Base64UrlStr, '"+Q=="'),
        (IPvAnyAddress, "1"),
        (Pattern, "1"),
        (SHORT, '" abc "'),
        (Line, '{"sku":"a","on":"2024-01-01","number":1}'),
        (Point, '{"x":1,"on":"2024-01-01"}'),
    ],
)
def test_what_is_refused_is_excluded_by_the_schema(annotation: Any, text: str) -> None:
    assert excluded(annotation, text)


class WithDefault(BaseModel):
    model_config = ConfigDict(validate_default=True)

    on: date = "2024-01-01"  # type: ignore[assignment]


T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    inside: T


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (Line, '{"sku":"a","on":"2024-01-01"}', Line("a", date(2024, 1, 1))),
        (WithDefault, "{}", WithDefault(on=date(2024, 1, 1))),
        (Point, '[1,"2024-01-01"]', Point(1, date(2024, 1, 1))),
        (Point, '[1,"2024-01-01",2]', Point(1, date(2024, 1, 1), 2)),
        (Box[date], '{"inside":"2024-01-01"}', Box[date](inside=date(2024, 1, 1))),
        (deque[int], "[1]", deque([1])),
        (Sequence[date], '["2024-01-01"]', [date(2024, 1, 1)]),
        (Path, '"a/b"', Path("a/b")),
        (IPv4Address, '"1.2.3.4"', IPv4Address("1.2.3.4")),
        (SecretStr, '"a"', SecretStr("a")),
        (Base64Bytes, '"YQ=="', b"a"),
        (SHORT, '" a "', "a"),
        (Annotated[bytes, Field(min_length=2)], '"\\u00e9"', "\u00e9".encode()),
    ],
)
def test_types_that_people_use_are_read(annotation: Any, text: str, value: object) -> None:
    assert accepted(annotation, text) == value


def test_a_field_that_no_argument_fills_is_not_published() -> None:
    schema = taking(Line).schema

    assert list(schema["$defs"]["Line"]["properties"]) == ["sku", "on"]


# --- what cannot be exact --------------------------------------------------------------------


class Converting(BaseModel):
    n: int

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)


class Wrapped(TypedDict):
    lines: list[dict[str, Any]]
    parsed: tuple[int, Json[int]]


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (Json[int], r": Json hides a text .* use the type itself"),
        (Wrapped, r", at value\.parsed\[1\]: Json hides a text"),
        (Corner, r": <Corner\.ORIGIN: \(0, 0\)> has no value that JSON can spell: give an Enum"),
        (list[Literal[b"x"]], r", at value\[\]: b'x' has no value that JSON can spell"),
        (Hashable, ": JSON holds no instances of this class: use a dataclass"),
        (complex, ": a complex number .*: use two floats"),
        (Fraction, ": a Fraction .*: use Decimal"),
        (type[int], ": a class cannot be sent as JSON: use a Literal"),
        (dict[str, Converting], r", at value\[\]: its own __init__ .*: use model_post_init"),
    ],
)
def test_what_cannot_be_exact_is_a_definition_error_with_its_place(
    annotation: Any, reason: str
) -> None:
    with pytest.raises(ToolDefinitionError, match=f"parameter 'value'{reason}"):
        taking(annotation)


def test_a_parameter_has_no_alias() -> None:
    for alias in (Field(alias="b"), Field(validation_alias="b")):
        with pytest.raises(ToolDefinitionError, match=r"parameter 'value': has an alias.* rename"):
            taking(Annotated[int, alias])


def test_a_parameter_has_one_default() -> None:
    def function(value: Annotated[int, Field(default=1)] = 2) -> None: ...

    with pytest.raises(ToolDefinitionError, match="'value' has a default of its own and one in"):
        tool(function)


@pytest.mark.parametrize("text", ['"NaN"', '"inf"', '"-Infinity"'])
@pytest.mark.parametrize("annotation", [float, Decimal])
def test_strict_false_takes_no_number_that_json_has_not(annotation: Any, text: str) -> None:
    assert "expected a finite number, found string" in refused(annotation, text, strict=False)
