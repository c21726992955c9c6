"""Problems: what they say of arguments, and that no value ever shows."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ByteSize,
    Discriminator,
    Field,
    ImportString,
    RootModel,
    Secret,
    SecretBytes,
    SecretStr,
    Tag,
    ValidationInfo,
    WrapValidator,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from beam_agents.tools import Tool, ToolArgumentsError, tool

VALUE = "hunter2"


def problems(annotation: Any, text: str) -> str:
    """Return what a tool says that refuses `text` as its `value`."""

    def function(value: Any) -> None: ...

    function.__annotations__ = {"value": annotation}
    return refusals(tool(function), f'{{"value":{text}}}')


def refusals(of: Tool, args_json: str) -> str:
    with pytest.raises(ToolArgumentsError) as error:
        of.parse_arguments(args_json)
    assert VALUE not in f"{error.value!r} {error.value.__cause__!r} {error.value.__context__!r}"
    return "; ".join(map(str, error.value.problems))


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


def kind(value: Any) -> Any:
    return value.get("kind")


def as_network(value: str) -> object:
    return ip_network(value)


# --- what validators say of their input ------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "text", "said"),
    [
        (IPv4Address, f'"{VALUE}"', "expected a valid ipv4, found string"),
        (IPv4Address | uuid.UUID, f'"{VALUE}"', "expected a valid ipv4 or uuid, found string"),
        (IPv4Network, f'"{VALUE}/24"', "expected a valid ipv4network, found string"),
        (ZoneInfo, f'"{VALUE}"', "expected a valid zoneinfo, found string"),
        (uuid.UUID, f'"{VALUE}"', "expected a valid uuid, found string"),
        (ByteSize, f'"5{VALUE}"', "is not valid, found string"),
        (ImportString, f'"{VALUE}"', "is not valid, found string"),
        (Mapping[str, int], f'"{VALUE}"', "expected an object, found string"),
        (Annotated[str, AfterValidator(int)], f'"{VALUE}"', "is not valid, found string"),
        (Annotated[str, AfterValidator(as_network)], f'"{VALUE}"', "is not valid, found string"),
        (
            Annotated[Cat | Dog, Field(discriminator="kind")],
            f'{{"kind":"{VALUE}"}}',
            "expected 'kind' to be one of 'cat', 'dog', found object",
        ),
        (
            Annotated[Annotated[Cat, Tag("c")] | Annotated[Dog, Tag("d")], Discriminator(kind)],
            f'{{"kind":"{VALUE}"}}',
            "expected kind() to be one of 'c', 'd', found object",
        ),
    ],
)
def test_what_would_repeat_the_value_is_said_in_other_words(
    annotation: Any, text: str, said: str
) -> None:
    assert said in problems(annotation, text)


def refuse(value: object) -> object:
    raise ValueError(f"cannot use {str(value)[:6]}")


def test_an_authors_own_words_are_passed_on_where_there_is_no_secret() -> None:
    assert problems(Annotated[str, AfterValidator(refuse)], f'"{VALUE}"') == (
        "$.value: Value error, cannot use hunter, found string"
    )


def code_of(value: str) -> str:
    raise PydanticCustomError("too_weak", "{it} is weak", {"it": value})


def test_an_error_of_a_type_that_is_not_known_is_not_quoted() -> None:
    assert problems(Annotated[str, AfterValidator(code_of)], f'"{VALUE}"') == (
        "$.value: is not valid, found string"
    )


# --- secrets ---------------------------------------------------------------------------------


def repeat(value: object) -> object:
    raise ValueError(f"cannot use {value}")


def reveal(value: Any) -> object:
    raise ValueError(f"cannot use {value.get_secret_value()}")


def reveal_neighbour(value: object, info: ValidationInfo) -> object:
    raise ValueError(f"{value} does not go with {info.data}, {info.data['pin']}")


def repeat_before(value: object, handler: Any) -> object:
    raise AssertionError(f"cannot use {value}")


class Pin(RootModel[SecretStr]):
    pass


class Revealing(BaseModel):
    pin: SecretStr

    @model_validator(mode="after")
    def never(self) -> Revealing:
        raise ValueError(f"{self.pin.get_secret_value()} is not enough")


class Neighbour(BaseModel):
    pin: Secret[str]
    name: str

    @field_validator("name")
    @classmethod
    def never(cls, name: str, info: ValidationInfo) -> str:
        raise ValueError(f"{name} has {info.data['pin'].get_secret_value()}")


@dataclass
class Checked:
    pin: SecretStr

    def __post_init__(self) -> None:
        raise ValueError(f"{self.pin.get_secret_value()} is not enough")


class Card(Secret[str]):
    pass


Marked = Annotated[str, Field(json_schema_extra={"writeOnly": True})]


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (Secret[IPv4Address], f'"{VALUE}"'),
        (Secret[date], f'"{VALUE}"'),
        (Secret[Annotated[str, AfterValidator(repeat)]], f'"{VALUE}"'),
        (Annotated[SecretStr, AfterValidator(reveal)], f'"{VALUE}"'),
        (Annotated[SecretBytes, WrapValidator(repeat_before)], f'"{VALUE}"'),
        (Annotated[Card, AfterValidator(reveal)], f'"{VALUE}"'),
        (Annotated[Marked, AfterValidator(repeat)], f'"{VALUE}"'),
        (dict[str, Annotated[Pin, WrapValidator(repeat_before)]], f'{{"a":"{VALUE}"}}'),
        (list[Annotated[Pin | None, WrapValidator(repeat_before)]], f'["{VALUE}"]'),
        (Revealing, f'{{"pin":"{VALUE}"}}'),
        (Neighbour, f'{{"pin":"{VALUE}","name":"a"}}'),
        (Checked, f'{{"pin":"{VALUE}"}}'),
        (Annotated[Checked | int, WrapValidator(repeat_before)], f'{{"pin":"{VALUE}"}}'),
    ],
)
def test_no_validator_repeats_a_secret(annotation: Any, text: str) -> None:
    assert "found" in problems(annotation, text)


def test_no_validator_repeats_the_secret_beside_its_own_argument() -> None:
    def function(pin: Any, value: Any) -> None: ...

    function.__annotations__ = {
        "pin": Marked,
        "value": Annotated[str, AfterValidator(reveal_neighbour)],
    }

    told = refusals(tool(function), f'{{"pin":"{VALUE}","value":"a"}}')

    assert told == "$.value: is not valid, found string"


def test_the_type_that_a_secret_should_have_is_named() -> None:
    assert problems(SecretStr, "5") == "$.value: expected a valid string, found integer"
    assert problems(Secret[int], f'"{VALUE}"') == "$.value: expected a valid integer, found string"


class Defaults(BaseModel):
    pin: SecretStr = SecretStr(VALUE)
    card: Secret[str] = Field(default=VALUE, validate_default=True)
    marked: Marked = VALUE


def test_the_default_of_a_secret_is_not_published() -> None:
    @tool
    def login(
        pin: SecretStr = VALUE,  # type: ignore[assignment]
        card: Secret[str] = VALUE,  # type: ignore[assignment]
        marked: Marked = VALUE,
        defaults: Defaults = Defaults(),  # noqa: B008
        user: str = "guest",
    ) -> None: ...

    published = str(login.schema)

    assert VALUE not in published
    assert "***" not in published
    assert login.schema["properties"]["user"]["default"] == "guest"


def test_a_key_that_is_not_allowed_is_told_from_its_value() -> None:
    @tool
    def count(stock: dict[Literal["a", "b"], int]) -> None: ...

    with pytest.raises(ToolArgumentsError) as error:
        count.parse_arguments('{"stock":{"a":"1","c":1}}')

    assert list(map(str, error.value.problems)) == [
        "$.stock.a: expected a valid integer, found string",
        "$.stock.c: its key: expected 'a' or 'b'",
    ]


def test_what_was_found_is_what_was_sent() -> None:
    @tool
    def wait(at_least: Annotated[timedelta, Field(gt=timedelta(days=1))]) -> None: ...

    with pytest.raises(ToolArgumentsError, match="expected greater than 1 day, found string"):
        wait.parse_arguments('{"at_least":"PT1S"}')


Nested = TypeAliasType("Nested", "list[Nested] | int")


def test_a_very_long_path_is_cut_in_the_middle() -> None:
    @tool
    def nest(value: Nested) -> None: ...

    deep = "[" * 150 + '"x"' + "]" * 150
    with pytest.raises(ToolArgumentsError) as error:
        nest.parse_arguments(f'{{"value":{deep}}}')

    longest = max((problem.path for problem in error.value.problems), key=len)
    assert longest == f"$.value{'[0]' * 11}...{'[0]' * 12}"


def test_a_very_long_key_is_cut() -> None:
    @tool
    def look(at: str) -> None: ...

    with pytest.raises(ToolArgumentsError, match="is not known here") as error:
        look.parse_arguments(f'{{"at":"x","{"k" * 1_000}":1}}')

    assert error.value.problems[0].path == f"$['{'k' * 64}...']"
