"""Arguments: strict, from JSON, into real instances, with every problem named."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    SecretStr,
    create_model,
)
from typing_extensions import NotRequired, TypedDict

from beam_agents.tools import Tool, ToolArgumentsError, tool


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    OFF = 0
    ON = 1


@dataclass
class Line:
    sku: str
    count: int = 1
    parts: list[Line] = field(default_factory=list)


class Money(BaseModel):
    amount: Decimal
    currency: str


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow", strict=False, populate_by_name=True)

    n: int = Field(default=0, alias="number")


class Options(TypedDict):
    limit: int
    note: NotRequired[str]


class Tags(RootModel[dict[str, int]]):
    pass


def taking(annotation: Any, **options: Any) -> Tool:
    """Make a tool of one argument, `value`."""

    def function(value: Any) -> None: ...

    function.__annotations__ = {"value": annotation}
    return tool(function, **options)


def accepted(annotation: Any, text: str, **options: Any) -> object:
    return taking(annotation, **options).parse_arguments(f'{{"value":{text}}}')["value"]


def refused(annotation: Any, text: str, **options: Any) -> str:
    with pytest.raises(ToolArgumentsError) as error:
        accepted(annotation, text, **options)
    return "; ".join(map(str, error.value.problems))


# --- instances -------------------------------------------------------------------------------

UTC = timezone.utc


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (int, "5", 5),
        (int, "5.0", 5),
        (int, "-0.0", 0),
        (int, "1e3", 1000),
        (int, str(10**40 + 1), 10**40 + 1),
        (float, "5", 5.0),
        (float, "0.1", 0.1),
        (bool, "true", True),
        (str, '"5"', "5"),
        (int | None, "null", None),
        (Color, '"red"', Color.RED),
        (Level, "1", Level.ON),
        (Level, "1.0", Level.ON),
        (Literal[1, "a"], '"a"', "a"),
        (date, '"2024-02-29"', date(2024, 2, 29)),
        (time, '"12:30"', time(12, 30)),
        (datetime, '"2024-02-29T12:30:00Z"', datetime(2024, 2, 29, 12, 30, tzinfo=UTC)),
        (datetime, '"2024-02-29 12:30:00.25"', datetime(2024, 2, 29, 12, 30, 0, 250_000)),  # noqa: DTZ001
        (timedelta, '"P1DT2H"', timedelta(days=1, hours=2)),
        (Decimal, '"12345678901234567890.10"', Decimal("12345678901234567890.10")),
        (Decimal, "0.1", Decimal("0.1")),
        (UUID, f'"{UUID(int=7)}"', UUID(int=7)),
        (bytes, '"raw"', b"raw"),
        (tuple[int, str], '[1,"a"]', (1, "a")),
        (set[int], "[1,2]", {1, 2}),
        (frozenset[str], '["a"]', frozenset({"a"})),
        (Sequence[int], "[1]", [1]),
        (Mapping[str, int], '{"a":1}', {"a": 1}),
        (dict[Color, int], '{"red":1}', {Color.RED: 1}),
        (
            Money,
            '{"amount":"1.50","currency":"EUR"}',
            Money(amount=Decimal("1.50"), currency="EUR"),
        ),
        (Options, '{"limit":1}', {"limit": 1}),
        (Tags, '{"a":1}', Tags({"a": 1})),
        (Any, '{"a":[1,null]}', {"a": [1, None]}),
        (int | str, '"5"', "5"),
    ],
)
def test_a_value_arrives_as_an_instance_of_its_type(
    annotation: Any, text: str, value: object
) -> None:
    got = accepted(annotation, text)

    assert got == value
    assert type(got) is type(value)


def test_b10_nested_dataclasses_are_real_at_every_level() -> None:
    line = accepted(Line, '{"sku":"a","parts":[{"sku":"b","count":2,"parts":[{"sku":"c"}]}]}')

    assert line == Line("a", 1, [Line("b", 2, [Line("c")])])


def test_b10_an_invalid_nested_value_is_refused() -> None:
    assert refused(Line, '{"sku":"a","parts":[{"sku":"b","count":"2"}]}') == (
        "$.value.parts[0].count: expected a valid integer, found string"
    )


# --- strictness ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, '"5"'),
        (int, "true"),
        (int, "5.5"),
        (int, "1e30"),
        (int, "null"),
        (float, '"5"'),
        (float, "true"),
        (float, "1" + "0" * 400),
        (list[float], "[1" + "0" * 400 + "]"),
        (bool, "1"),
        (bool, '"true"'),
        (str, "5"),
        (bytes, "[1]"),
        (Literal[1], "true"),
        (Literal[0], "false"),
        (Literal[True], "1"),
        (Literal[1] | None, "true"),
        (Level, "true"),
        (list[Level], "[1,false]"),
        (Color, '"RED"'),
        (date, "1"),
        (date, '"86400"'),
        (date, '"2024-02-30"'),
        (date, '"2024-02-29T00:00:00"'),
        (datetime, "1700000000"),
        (datetime, '"1700000000"'),
        (datetime, '"2024-02-29"'),
        (time, '"12"'),
        (timedelta, '"1 day"'),
        (timedelta, '"12:00:00"'),
        (timedelta, '"P1M"'),
        (timedelta, "1"),
        (Decimal, '"1_000"'),
        (Decimal, '" 1"'),
        (Decimal, '"1e5"'),
        (Decimal, '"NaN"'),
        (Decimal, "true"),
        (UUID, '"urn:uuid:00000000-0000-0000-0000-000000000007"'),
        (UUID, '"00000000000000000000000000000007"'),
        (set[int], "[1,1]"),
        (set[float], "[1,1.0]"),
        (frozenset[str], '["a","a"]'),
        (tuple[int, str], "[1]"),
        (tuple[int, str], '[1,"a",2]'),
        (Sequence[str], '"ab"'),
        (dict[str, int], '{"a":"1"}'),
        (Tags, '{"a":"1"}'),
        (Options, '{"limit":1,"other":2}'),
        (Loose, '{"number":"5"}'),
        (Loose, '{"other":5}'),
        (Loose, '{"n":5}'),
        (Money, '["1.50","EUR"]'),
    ],
)
def test_nothing_is_coerced(annotation: Any, text: str) -> None:
    assert refused(annotation, text)


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [(int, '"5"', 5), (bool, "1", True), (Decimal, '" 1"', Decimal(1)), (set[int], "[1,1]", {1})],
)
def test_strict_false_opts_into_coercion(annotation: Any, text: str, value: object) -> None:
    assert accepted(annotation, text, strict=False) == value


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (Decimal, "0.12345678901234567890", Decimal("0.12345678901234568")),
        (Decimal, "1.10", Decimal("1.1")),
        (list[Any], "[1.0,-0.0,1e2]", [1, 0, 100]),
        (float, "-0.0", 0.0),
    ],
)
def test_what_is_validated_is_the_canonical_text(annotation: Any, text: str, value: object) -> None:
    assert repr(accepted(annotation, text)) == repr(value)


def test_strict_false_still_refuses_what_is_unknown() -> None:
    assert "is not known here" in refused(Line, '{"sku":"a","color":"red"}', strict=False)


@pytest.mark.parametrize(
    ("args_json", "problem"),
    [
        ('{"value":1,"value":2}', "$: has the key 'value' more than once"),
        ('{"value":{"a":1,"a":2}}', "$.value: has the key 'a' more than once"),
        ('{"value":NaN}', "$.value: NaN is not JSON"),
        ('{"value":1e400}', "$.value: is beyond the range of a double"),
        (r'{"value":"\ud800"}', "$.value: has a lone surrogate, which UTF-8 cannot carry"),
        ("[]", "$: expected an object, found array"),
        ("null", "$: expected an object, found null"),
        ("", "$: is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("{}", "$.value: is required"),
        ('{"value":1,"other":2}', "$.other: is not known here"),
    ],
)
def test_a_document_that_is_no_arguments_object_is_refused(args_json: str, problem: str) -> None:
    with pytest.raises(ToolArgumentsError) as error:
        taking(Any).parse_arguments(args_json)

    assert str(error.value) == f"tool 'function' refuses its arguments: {problem}"


KEYWORDS = ["type", "pattern", "enum", "const", "properties", "items", "anyOf", "uniqueItems"]


@pytest.mark.parametrize("name", KEYWORDS)
def test_a_parameter_may_be_called_like_a_keyword_of_json_schema(name: str) -> None:
    model = create_model("Model", **{name: (Level, ...)})  # type: ignore[call-overload]

    assert accepted(model, f'{{"{name}":1}}') == model(**{name: Level.ON})
    assert refused(model, f'{{"{name}":true}}')


# --- defaults --------------------------------------------------------------------------------


def test_b08_nullable_is_not_optional() -> None:
    @tool
    def search(note: str | None, limit: int = 5) -> None: ...

    assert search.schema["required"] == ["note"]
    with pytest.raises(ToolArgumentsError, match=r"\$\.note: is required"):
        search.parse_arguments("{}")
    assert search.parse_arguments('{"note":null}') == {"note": None, "limit": 5}


def test_a_default_is_the_functions_own_object() -> None:
    missing: Any = object()

    @tool
    def search(limit: int = missing) -> None: ...

    assert search.parse_arguments("{}")["limit"] is missing


# --- problems --------------------------------------------------------------------------------


def problems(of: Tool, args_json: str) -> list[str]:
    with pytest.raises(ToolArgumentsError) as error:
        of.parse_arguments(args_json)
    return [str(problem) for problem in error.value.problems]


def test_every_problem_is_listed_with_its_path_and_types() -> None:
    @tool
    def order(lines: list[Line], color: Color, when: datetime, level: Level) -> None: ...

    assert problems(
        order,
        '{"lines":[{"sku":1},{"count":2}],"color":"green","when":"tomorrow","level":true,"x y":1}',
    ) == [
        "$.lines[0].sku: expected a valid string, found integer",
        "$.lines[1].sku: is required",
        "$.color: expected 'red' or 'blue', found string",
        "$.when: expected a valid datetime, input is too short, found string",
        "$.level: expected 0 or 1, found boolean",
        "$['x y']: is not known here",
    ]


def test_the_path_leaves_out_how_a_union_was_tried() -> None:
    @tool
    def pick(value: int | list[Line]) -> None: ...

    assert problems(pick, '{"value":[{"sku":null}]}') == [
        "$.value: expected a valid integer, found array",
        "$.value[0].sku: expected a valid string, found null",
    ]


def test_a_long_list_of_problems_is_cut_in_the_message() -> None:
    @tool
    def add(numbers: list[int]) -> None: ...

    with pytest.raises(ToolArgumentsError) as error:
        add.parse_arguments('{"numbers":[' + ",".join(['"x"'] * 100) + "]}")

    assert len(error.value.problems) == 100
    assert str(error.value).endswith("; and 80 more")


def leaky(value: object) -> object:
    raise ValueError(f"cannot use {value}")


def test_the_value_of_a_secret_never_shows() -> None:
    @tool
    def login(
        user: str, password: SecretStr, pin: Annotated[SecretStr | None, BeforeValidator(leaky)]
    ) -> None: ...

    with pytest.raises(ToolArgumentsError) as error:
        login.parse_arguments('{"user":1,"password":123456,"pin":"123456"}')

    assert "123456" not in f"{error.value} {error.value!r} {error.value.__cause__}"
    assert list(map(str, error.value.problems)) == [
        "$.user: expected a valid string, found integer",
        "$.password: expected a valid string, found integer",
        "$.pin: expected a valid password, found string",
    ]


def test_what_an_authors_own_check_says_is_passed_on() -> None:
    @tool
    def count(n: Annotated[int, BeforeValidator(leaky)]) -> None: ...

    assert problems(count, '{"n":5}') == ["$.n: Value error, cannot use 5, found integer"]


@dataclass
class RaisesKeyError:
    name: str

    def __post_init__(self) -> None:
        raise KeyError(self.name)


def test_whatever_a_validator_raises_refuses_the_arguments_without_repeating_them() -> None:
    @tool
    def greet(person: RaisesKeyError) -> None: ...

    with pytest.raises(ToolArgumentsError, match="a validator of the tool raised KeyError") as told:
        greet.parse_arguments('{"person":{"name":"hunter2"}}')

    assert "hunter2" not in str(told.value)
