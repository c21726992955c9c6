"""For generated signatures the published schema and the validator accept the same documents.

The judge is the `jsonschema` library, which knows only the published schema. Where
the two differ, they do on purpose, and a test below says so:

- a whole number of 1e21 and more that is written with an exponent is no int;
- an integer beyond the range of a double is no float;
- a date in the right spelling must be in the calendar as well;
- a URL, an address, or another string with a `format` must read as one;
- a bound on a date, a time or a duration holds, though no keyword expresses it; so does one on
  the digits of a Decimal, and any bound on a Decimal holds for strings as well;
- a length of bytes counts bytes, and one of a text that is stripped holds before and after;
- members of a set must differ as values: "1" and "1.0" are one Decimal, 1 and true one key.

What a pattern of the author's means, and what their own validators do, is theirs.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypeAlias, Union
from uuid import UUID

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ByteSize,
    Field,
    FutureDate,
    StringConstraints,
    WrapValidator,
    create_model,
)
from pydantic.types import UUID4
from typing_extensions import TypedDict

from beam_agents.tools import Tool, ToolArgumentsError, ToolDefinitionError, tool


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    OFF = 0
    ON = 1


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"
    HALF = 0.5


@dataclasses.dataclass
class Tree:
    value: int
    children: list[Tree] = dataclasses.field(default_factory=list)


class Node(BaseModel):
    next: Node | None = None


class Point(NamedTuple):
    x: int
    on: date = date(2024, 1, 1)


class Holder(BaseModel):
    """Has defaults of all kinds, sets inside of others too."""

    tags: frozenset[str] = frozenset({"a", "b"})
    colors: dict[Color, set[Color]] = {Color.RED: {Color.RED}}
    on: date = date(2024, 1, 1)
    point: Point = Point(1)
    price: Decimal | str = Decimal("1.50")


class Red(BaseModel):
    kind: Literal[Color.RED]
    at: datetime | str = ""


class Blue(BaseModel):
    kind: Literal[Color.BLUE]


Tagged: TypeAlias = Annotated[Red | Blue, Field(discriminator="kind")]


# --- signatures ------------------------------------------------------------------------------

# Some that mean something to Python, to pydantic, or in a schema.
NAMES = st.sampled_from(
    ["a", "b", "class_", "json", "model_config", "schema", "type", "pattern", "enum", "properties"]
)
LEAVES = st.sampled_from(
    [
        time,
        timedelta,
        Literal[Color.RED],
        Literal[Level.ON, "x", None],
        AwareDatetime,
        UUID4,
        Point,
        datetime | str,
        str | Decimal,
        UUID | Literal["x"] | None,
        date | timedelta | str,
        Tagged,
        Holder,
        int,
        float,
        bool,
        str,
        bytes,
        None,
        Any,
        Decimal,
        UUID,
        date,
        datetime,
        Color,
        Level,
        Mixed,
        Tree,
        Node,
        Literal["x", "y"],
        Literal[0, "x"],
        Literal[True],
        Literal[1, 2, None],
        Annotated[int, Field(ge=0, lt=10)],
        Annotated[int, Field(multiple_of=3)],
        Annotated[float, Field(gt=0)],
        Annotated[str, Field(min_length=1, max_length=3)],
        Annotated[str, Field(pattern="^[a-c]+$")],
    ]
)
HASHABLE = st.sampled_from(
    [
        *(int, float, bool, str, Color, Level, date, Literal[0, "x"], Decimal, UUID, datetime),
        *(int | bool, timedelta | str, tuple[int, ...], Optional[Decimal]),  # noqa: UP045
    ]
)
KEYS = st.sampled_from([str, Any, Color, Literal["a", "zz"], Literal[Color.RED]])
MANY_SPELLINGS = [int, float, bool, Decimal, UUID, date, datetime, time, timedelta, Level]


def unchanged(value: Any) -> Any:
    return value


def handed_on(value: Any, read: Any) -> Any:
    return read(value)


def classes(types: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(NAMES.filter(lambda name: name != "model_config"), types, max_size=3)
    return (
        members.map(lambda m: dataclasses.make_dataclass("Data", list(m.items())))
        | members.map(lambda m: TypedDict("Typed", m))  # type: ignore[operator]
        | st.dictionaries(st.sampled_from(["a", "b"]), types, max_size=2).map(
            lambda m: create_model("Model", **{name: (each, ...) for name, each in m.items()})  # type: ignore[call-overload]
        )
    )


def containers(types: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        types.map(lambda t: list[t])  # type: ignore[valid-type]
        | types.map(lambda t: Annotated[list[t], Field(min_length=1, max_length=2)])  # type: ignore[valid-type]
        | types.map(lambda t: dict[str, t])  # type: ignore[valid-type]
        | st.tuples(KEYS, types).map(lambda kt: Mapping[kt])  # type: ignore[valid-type,misc]
        | types.map(lambda t: Annotated[t, BeforeValidator(unchanged)])
        | types.map(lambda t: Annotated[t, WrapValidator(handed_on)])
        | types.map(lambda t: tuple[t, ...])  # type: ignore[valid-type]
        | st.tuples(types, types).map(lambda ts: tuple[ts])  # type: ignore[valid-type]
        | HASHABLE.map(lambda t: set[t])  # type: ignore[valid-type]
        | HASHABLE.map(lambda t: frozenset[t])  # type: ignore[valid-type]
        | types.map(lambda t: Optional[t])  # noqa: UP045
        | st.tuples(types, types).map(lambda ts: Union[ts])  # noqa: UP007
        | classes(types)
    )


TYPES = st.recursive(LEAVES, containers, max_leaves=5)


@st.composite
def tools(draw: st.DrawFn) -> Tool:
    """Draw a function's parameters, some with a default, and make a tool of it."""
    annotations = draw(st.dictionaries(NAMES, TYPES, max_size=3))
    optional = draw(st.sets(st.sampled_from(sorted(annotations)))) if annotations else set()

    def function(**arguments: Any) -> None: ...

    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=annotation,
                default=None if name in optional else inspect.Parameter.empty,
            )
            for name, annotation in annotations.items()
        ]
    )
    return tool(function)


# --- documents: mostly what a schema asks for, sometimes something else ----------------------

Documents: TypeAlias = st.SearchStrategy[Any]

JUNK: Documents = (
    st.sampled_from(
        [
            None,
            True,
            False,
            0,
            1,
            -1,
            3,
            12,
            0.5,
            1.0,
            10**30,
            "",
            "x",
            "1",
            "a",
            "red",
            [],
            [1, 1],
            {},
        ]
    )
    | st.sampled_from(
        [
            "2024-01-01",
            "2024-01-01T10:00:00Z",
            "86400",
            "1_0",
            "1e5",
            str(UUID(int=1)),
            {"a": 1},
            "NaN",
        ]
    )
    | st.sampled_from(
        ["1.0", " 1", "P1D", "1 day", "10:30", UUID(int=10).hex, [1, True], ["1", "1.0"]]
    )
)


def documents(
    schema: Any, definitions: Mapping[str, Any], depth: int = 4
) -> st.SearchStrategy[Any]:
    good = _documents(schema, definitions, depth)
    return st.one_of(good, good, good, good, good, good, JUNK)


def _documents(schema: Any, definitions: Mapping[str, Any], depth: int) -> Documents:
    if not isinstance(schema, dict) or depth == 0:
        return JUNK
    if "$ref" in schema:
        return _documents(definitions[schema["$ref"].split("/")[-1]], definitions, depth)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of(*(_documents(each, definitions, depth) for each in schema["anyOf"]))
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return st.tuples(
                *(documents(each, definitions, depth - 1) for each in schema["prefixItems"])
            ).map(list)
        return st.lists(documents(schema.get("items"), definitions, depth - 1), max_size=3)
    if schema.get("type") == "object":
        return _objects(schema, definitions, depth)
    return {
        "integer": st.integers(-3, 20) | st.just(2**70),
        "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
        "boolean": st.booleans(),
        "null": st.none(),
        "string": _strings(schema),
    }.get(schema.get("type", ""), JUNK)


def _objects(schema: Any, definitions: Mapping[str, Any], depth: int) -> Documents:
    required = set(schema.get("required", ()))
    members = {
        name: documents(each, definitions, depth - 1)
        for name, each in schema.get("properties", {}).items()
    }
    extra = schema.get("additionalProperties")
    keys = st.sampled_from(["red", "blue", "a", "A", "zz"])
    others = st.dictionaries(keys, documents(extra, definitions, depth - 1), max_size=2)
    known = st.fixed_dictionaries(
        {n: m for n, m in members.items() if n in required},
        optional={n: m for n, m in members.items() if n not in required},
    )
    if extra is not False:
        return others
    mixed = st.tuples(others, known).map(lambda pair: pair[0] | pair[1])
    return st.one_of(known, known, known, mixed)


def _strings(schema: Any) -> st.SearchStrategy[str]:
    spelled = {
        "date": ["2024-02-29", "2024-03-01", "1700000000"],
        "date-time": ["2024-02-29T01:02:03Z", "2024-02-29T02:02:03+01:00", "2024-02-29 01:02"],
        "time": ["10:30", "10:30:00", "10"],
        "duration": ["P1D", "PT24H", "1 day"],
        "uuid": [str(UUID(int=10)), str(UUID(int=10)).upper(), UUID(int=10).hex],
        "uuid4": ["f47ac10b-58cc-4372-a567-0e02b2c3d479", str(UUID(int=10))],
    }.get(schema.get("format", ""), ["", "x", "abc", "abcd", "1.50", "1.5", "1e5"])
    return st.sampled_from(spelled)


# --- the property ----------------------------------------------------------------------------


@given(st.data())
@settings(
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_schema_and_validator_accept_the_same_documents(data: st.DataObject) -> None:
    made = data.draw(tools())
    judge = Draft202012Validator(made.schema)
    judge.check_schema(made.schema)
    schema = made.schema
    for _ in range(5):
        document = data.draw(documents(schema, schema.get("$defs", {})))

        allowed = judge.is_valid(document)

        text = json.dumps(document)
        try:
            read = made.parse_arguments(text)
        except ToolArgumentsError as error:
            event("refused")
            assert not allowed or "has equal members" in str(error), (schema, text)  # noqa: PT017
        else:
            event("accepted")
            assert allowed, (schema, text)
            assert_nothing_is_lost(document, {name: read[name] for name in document})


def assert_nothing_is_lost(document: Any, value: Any) -> None:
    """Hold the sizes of arrays and mappings against what has been made of them."""
    if isinstance(document, list):
        assert len(value) == len(document)
        if isinstance(value, (list, tuple)):
            for sent, got in zip(document, value, strict=False):
                assert_nothing_is_lost(sent, got)
    elif isinstance(document, dict) and isinstance(value, dict):
        given = {key.value if isinstance(key, Color) else key: each for key, each in value.items()}
        assert given.keys() == document.keys()
        for key, sent in document.items():
            assert_nothing_is_lost(sent, given[key])


@pytest.mark.parametrize("key", MANY_SPELLINGS)
def test_a_mapping_has_no_keys_of_many_spellings(key: Any) -> None:
    def function(value: Any) -> None: ...

    function.__annotations__["value"] = dict[str, Mapping[key, int]]
    with pytest.raises(ToolDefinitionError, match=r"at value\[\]: only strings as keys"):
        tool(function)


# --- the exceptions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "1e21"),
        (float, "1" + "0" * 400),
        (date, '"2024-02-30"'),
        (IPv4Address, '"example"'),
        (Annotated[Decimal, Field(gt=0)], '"-1"'),
        (Annotated[Decimal, Field(max_digits=3)], "1234"),
        (Annotated[Decimal, Field(decimal_places=1)], '"0.12"'),
        (Annotated[date, Field(ge=date(2024, 1, 1))], '"2023-12-31"'),
        (FutureDate, '"2023-12-31"'),
        (Annotated[timedelta, Field(gt=timedelta(days=1))], '"PT1S"'),
        (Annotated[bytes, Field(min_length=2)], '"a"'),
        (Annotated[bytes, Field(max_length=1)], '"\u00e9"'),
        (Annotated[str, StringConstraints(strip_whitespace=True, min_length=2)], '" a "'),
        (ByteSize, '"1 parsec"'),
        (set[Decimal], '["1","1.0"]'),
        (set[int | bool], "[1,true]"),
    ],
)
def test_where_the_validator_knows_more_than_the_schema(annotation: Any, text: str) -> None:
    def function(value: Any) -> None: ...

    function.__annotations__["value"] = annotation
    made = tool(function)
    document = f'{{"value":{text}}}'

    assert Draft202012Validator(made.schema).is_valid(json.loads(document))
    with pytest.raises(ToolArgumentsError):
        made.parse_arguments(document)
