"""For generated signatures the published schema and the validator accept the same documents.

The judge is the `jsonschema` library, which knows only the published schema. Where
the two differ, they do on purpose, and a test below says so:

- a whole number of 1e21 and more that is written with an exponent is no int;
- an integer beyond the range of a double is no float;
- a date in the right spelling must be in the calendar as well;
- a URL, an address, or another string with a `format` must read as one;
- a bound on a Decimal also holds for decimals in strings.

What a pattern of the author's means, and what their own validators do, is theirs.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal, Optional, TypeAlias, Union
from uuid import UUID

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, create_model
from typing_extensions import TypedDict

from beam_agents.tools import Tool, ToolArgumentsError, tool


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


# --- signatures ------------------------------------------------------------------------------

# Some that mean something to Python, to pydantic, or in a schema.
NAMES = st.sampled_from(
    ["a", "b", "class_", "json", "model_config", "schema", "type", "pattern", "enum", "properties"]
)
LEAVES = st.sampled_from(
    [
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
HASHABLE = st.sampled_from([int, float, bool, str, Color, Level, date, Literal[0, "x"]])


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
        | types.map(lambda t: Mapping[Color, t])  # type: ignore[valid-type]
        | types.map(lambda t: tuple[t, ...])  # type: ignore[valid-type]
        | st.tuples(types, types).map(lambda ts: tuple[ts])  # type: ignore[valid-type]
        | HASHABLE.map(lambda t: set[t])  # type: ignore[valid-type]
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

JUNK: Documents = st.sampled_from(
    [None, True, False, 0, 1, -1, 3, 12, 0.5, 1.0, 10**30, "", "x", "1", "a", "red", [], [1, 1], {}]
) | st.sampled_from(
    ["2024-01-01", "2024-01-01T10:00:00Z", "86400", "1_0", "1e5", str(UUID(int=1)), {"a": 1}, "NaN"]
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
    keys = st.sampled_from(["red", "blue", "a", "zz"])
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
        "date": ["2024-02-29"],
        "date-time": ["2024-02-29T01:02:03Z", "2024-02-29 01:02"],
        "uuid": [str(UUID(int=7))],
    }.get(schema.get("format", ""), ["", "x", "abc", "abcd", "1.50"])
    return st.sampled_from(spelled)


# --- the property ----------------------------------------------------------------------------


@given(st.data())
@settings(
    max_examples=400,
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
            made.parse_arguments(text)
            accepted = True
        except ToolArgumentsError:
            accepted = False
        event("accepted" if accepted else "refused")
        assert accepted == allowed, (schema, text)


# --- the exceptions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "1e21"),
        (float, "1" + "0" * 400),
        (date, '"2024-02-30"'),
        (IPv4Address, '"example"'),
        (Annotated[Decimal, Field(gt=0)], '"-1"'),
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
