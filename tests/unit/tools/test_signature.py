"""Which parameters a model fills, and the one that is injected."""

from __future__ import annotations

import asyncio
import typing
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, singledispatch, singledispatchmethod, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

import pytest
from pydantic import AliasChoices, BaseModel, Field
from typing_extensions import TypeAliasType

from beam_agents.tools import (
    IntentInfo,
    Tool,
    ToolArgumentsError,
    ToolDefinitionError,
    ToolError,
    tool,
)
from beam_agents.tools import IntentInfo as Info

if TYPE_CHECKING:
    from decimal import Decimal

INTENT = IntentInfo(intent_id="i", entity_key=b"k", seq=0, step_index=0, attempt=1)


@dataclass
class Address:
    street: str


def names(of: Tool) -> list[str]:
    return list(of.schema["properties"])


# --- B03: types under postponed annotations --------------------------------------------------


def test_b03_postponed_annotations_resolve_in_the_authors_module() -> None:
    @tool
    def ship(
        to: Address, note: str | None, speed: Literal["slow", "fast"], label: Path
    ) -> list[object]:
        return [to, note, speed, label]

    arguments = ship.parse_arguments(
        '{"to":{"street":"Elm"},"note":null,"speed":"fast","label":"a/b"}'
    )

    assert ship.invoke(arguments) == [Address("Elm"), None, "fast", Path("a/b")]


def test_b03_a_string_inside_an_annotation_resolves_as_well() -> None:
    @tool
    def ship(to: list["Address"]) -> int:  # noqa: UP037
        return len(to)

    assert ship.parse_arguments('{"to":[{"street":"Elm"}]}') == {"to": [Address("Elm")]}


def test_an_import_for_type_checking_only_is_a_definition_error() -> None:
    with pytest.raises(ToolDefinitionError, match=r"parameter 'price': .*outside `if TYPE_CHECK"):

        @tool
        def buy(price: Decimal) -> None: ...


# --- B07: parameters that cannot be named ----------------------------------------------------


def test_b07_a_positional_only_parameter_is_a_definition_error() -> None:
    with pytest.raises(ToolDefinitionError, match="parameter 'x' is positional-only"):

        @tool
        def f(x: int, /) -> None: ...


def test_b07_variadic_parameters_are_a_definition_error() -> None:
    with pytest.raises(ToolDefinitionError, match="parameter 'xs' is variadic"):

        @tool
        def f(*xs: int) -> None: ...


def test_b07_variadic_keywords_are_a_definition_error() -> None:
    with pytest.raises(ToolDefinitionError, match="parameter 'options' is variadic"):

        @tool
        def f(**options: int) -> None: ...


def test_a_parameter_without_annotation_is_a_definition_error() -> None:
    with pytest.raises(ToolDefinitionError, match="parameter 'x' has no annotation"):

        @tool
        def f(x) -> None: ...  # type: ignore[no-untyped-def]


def test_an_unbound_method_is_told_to_be_bound() -> None:
    with pytest.raises(ToolDefinitionError, match="decorate the bound method"):

        class Service:
            @tool
            def f(self, x: int) -> None: ...


def test_a_definition_error_names_the_tool_and_its_place() -> None:
    with pytest.raises(ToolDefinitionError, match=r"tool 'g' \(.*test_signature\.py:\d+\): "):

        @tool(name="g")
        def f(*xs: int) -> None: ...


class Renamed(BaseModel):
    x: int = Field(validation_alias=AliasChoices("x", "y"))


class Opaque:
    pass


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (Opaque, "Opaque"),
        (Callable[[], None], "Callable"),
        (Iterable[int], "use list or Sequence"),
        (Iterator[int], "Iterator"),
        (dict[int, str], "only strings as keys"),
        (list[dict[bool, str]], "only strings as keys"),
        (Renamed, "in several ways"),
    ],
)
def test_a_type_that_cannot_be_validated_strictly_is_a_definition_error(
    annotation: Any, reason: str
) -> None:
    def f(value: Any) -> None: ...

    f.__annotations__["value"] = annotation

    with pytest.raises(ToolDefinitionError, match=f"parameter 'value'.*{reason}"):
        tool(f)


def test_a_field_as_the_default_is_a_definition_error() -> None:
    def f(x: int = Field(ge=0)) -> None: ...

    with pytest.raises(ToolDefinitionError, match=r"write `x: Annotated\[…, Field\(…\)\] = def"):
        tool(f)


# --- what can be a tool ----------------------------------------------------------------------


class Greeter:
    def __init__(self, greeting: str) -> None:
        self.greeting = greeting

    def greet(self, name: str) -> str:
        """Greet."""
        return f"{self.greeting} {name}"

    async def greet_later(self, name: str) -> str:
        return f"{self.greeting} {name}"

    def __call__(self, name: str) -> str:
        """Greet at once."""
        return f"{self.greeting} {name}"


class AsyncGreeter:
    async def __call__(self, name: str) -> str:
        return f"hello {name}"


def greet(greeting: str, name: str) -> str:
    """Greet."""
    return f"{greeting} {name}"


async def greet_later(greeting: str, name: str) -> str:
    return f"{greeting} {name}"


@wraps(greet_later)
def behind_a_wrapper(*args: Any, **kwargs: Any) -> Any:
    return greet_later(*args, **kwargs)


SYNC = [
    (Greeter("hello").greet, "greet"),
    (Greeter("hello"), "Greeter"),
    (partial(greet, "hello"), "greet"),
    (partial(greet, greeting="hello"), "greet"),
    (partial(partial(greet, greeting="bye"), greeting="hello"), "greet"),
]
ASYNC = [
    (Greeter("hello").greet_later, "greet_later"),
    (AsyncGreeter(), "AsyncGreeter"),
    (partial(greet_later, "hello"), "greet_later"),
    (partial(behind_a_wrapper, greeting="hello"), "greet_later"),
]


@pytest.mark.parametrize(("function", "name"), SYNC)
def test_any_callable_can_be_a_tool(function: Callable[..., object], name: str) -> None:
    made = tool(function)

    assert names(made) == ["name"]
    assert made.invoke(made.parse_arguments('{"name":"Ann"}')) == "hello Ann"
    assert made.name == name


@pytest.mark.parametrize(("function", "name"), ASYNC)
async def test_b13_hidden_coroutines_are_awaited(
    function: Callable[..., object], name: str
) -> None:
    made = tool(function)

    returned = made.invoke(made.parse_arguments('{"name":"Ann"}'))

    assert asyncio.iscoroutine(returned)
    assert await returned == "hello Ann"
    assert made.name == name


async def streaming(x: int) -> AsyncIterator[int]:
    yield x


def counting(x: int) -> Iterator[int]:
    yield x


class Streamer:
    async def __call__(self, x: int) -> AsyncIterator[int]:
        yield x


@pytest.mark.parametrize("function", [streaming, counting, partial(streaming, x=1), Streamer()])
def test_b13_a_generator_is_a_definition_error(function: Callable[..., object]) -> None:
    with pytest.raises(ToolDefinitionError, match="is a generator"):
        tool(function)


@pytest.mark.parametrize("thing", [Greeter, 5, "greet"])
def test_what_is_no_function_is_a_definition_error(thing: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="no function, method or callable object"):
        tool(thing)


def test_a_tool_is_not_decorated_twice() -> None:
    with pytest.raises(ToolDefinitionError, match="is a tool already"):
        tool(tool(greet))


def test_what_a_partial_fixes_cannot_be_sent() -> None:
    made = tool(partial(greet, greeting="hello"))

    with pytest.raises(ToolArgumentsError, match=r"\$\.greeting: is not known here"):
        made.parse_arguments('{"name":"Ann","greeting":"bye"}')


@singledispatch
def area(shape: int) -> int:
    return shape


class Drawing:
    @singledispatchmethod
    def area(self, shape: int) -> int:
        return shape


@pytest.mark.parametrize("function", [area, Drawing().area, partial(area)])
def test_a_function_that_dispatches_on_its_position_is_a_definition_error(
    function: Callable[..., object],
) -> None:
    with pytest.raises(ToolDefinitionError, match="make a tool of each implementation"):
        tool(function)


# --- B05: the injected IntentInfo ------------------------------------------------------------

T = TypeVar("T")
Aliased = TypeAliasType("Aliased", IntentInfo)
# What the `type` statement of Python 3.12 makes.
BuiltIn: Any = getattr(typing, "TypeAliasType", TypeAliasType)("BuiltIn", IntentInfo)
Maybe = TypeAliasType("Maybe", T | None, type_params=(T,))


def plain(x: int, *, intent: IntentInfo) -> str:
    return intent.intent_id


def renamed(x: int, *, me: Info) -> str:
    return me.intent_id


def annotated(x: int, *, intent: Annotated[IntentInfo, "who asks"]) -> str:
    return intent.intent_id


def optional(x: int, *, intent: IntentInfo | None = None) -> str:
    return intent.intent_id if intent else ""


def union(x: int, *, intent: Annotated[IntentInfo, "who asks"] | None) -> str:
    return intent.intent_id if intent else ""


def aliased(x: int, *, intent: Aliased) -> str:
    return intent.intent_id


def aliased_by_the_language(x: int, *, intent: BuiltIn) -> str:
    return cast("str", intent.intent_id)


def aliased_with_a_parameter(x: int, *, intent: Maybe[BuiltIn]) -> str:
    return cast("str", intent.intent_id if intent else "")


def quoted(x: int, *, intent: "IntentInfo") -> str:  # noqa: UP037
    return intent.intent_id


INJECTED: list[Callable[..., str]] = [
    *(plain, renamed, annotated, optional, union, quoted),
    *(aliased, aliased_by_the_language, aliased_with_a_parameter),
]


@pytest.mark.parametrize("function", INJECTED)
def test_the_intent_info_is_injected_and_never_in_the_schema(
    function: Callable[..., str],
) -> None:
    made = tool(function, side_effect=True)

    assert names(made) == ["x"]
    assert made.invoke(made.parse_arguments('{"x":1}'), INTENT) == "i"


@pytest.mark.parametrize("function", INJECTED)
@pytest.mark.parametrize("key", ["intent", "me", "\\u0069ntent", "Intent", "IntentInfo"])
def test_b05_arguments_cannot_supply_the_intent_info(
    function: Callable[..., str], key: str
) -> None:
    made = tool(function, side_effect=True)

    with pytest.raises(ToolArgumentsError, match="is not known here"):
        made.parse_arguments(f'{{"x":1,"{key}":{{"intent_id":"forged"}}}}')


@dataclass
class Smuggler:
    intent: IntentInfo


@pytest.mark.parametrize("annotation", [list[IntentInfo], IntentInfo | str, Smuggler])
def test_b05_no_schema_can_hold_an_intent_info(annotation: Any) -> None:
    def f(*, value: Any) -> None: ...

    f.__annotations__["value"] = annotation

    with pytest.raises(ToolDefinitionError, match=r"parameter 'value'.*IntentInfo is injected"):
        tool(f, side_effect=True)


def test_an_intent_info_that_is_not_keyword_only_is_a_definition_error() -> None:
    def f(x: int, intent: IntentInfo) -> None: ...

    with pytest.raises(ToolDefinitionError, match=r"must be keyword-only: `\*, intent: IntentI"):
        tool(f, side_effect=True)


def test_two_intent_infos_are_a_definition_error() -> None:
    def f(*, a: IntentInfo, b: IntentInfo) -> None: ...

    with pytest.raises(ToolDefinitionError, match="takes the IntentInfo twice"):
        tool(f, side_effect=True)


def test_an_intent_info_without_a_side_effect_is_a_definition_error() -> None:
    with pytest.raises(ToolDefinitionError, match="runs inside the pipeline, where there is no"):
        tool(plain)


def test_an_ordinary_parameter_named_intent_is_untouched() -> None:
    @tool(side_effect=True)
    def classify(intent: str) -> str:
        return intent

    assert names(classify) == ["intent"]
    assert classify.invoke(classify.parse_arguments('{"intent":"buy"}'), INTENT) == "buy"


def test_a_tool_that_needs_an_intent_info_says_so() -> None:
    with pytest.raises(ToolError, match="pass it to invoke"):
        tool(plain, side_effect=True).invoke({"x": 1})
