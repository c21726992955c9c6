"""Tools: calling, options, and how they travel."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from beam_agents.tools import (
    Applied,
    IntentInfo,
    NotApplied,
    SideEffectToolError,
    Tool,
    ToolDefinitionError,
    Unknown,
    tool,
)

INTENT = IntentInfo(intent_id="i", entity_key=b"k", seq=0, step_index=0, attempt=2)


@dataclass
class Address:
    """Where to."""

    street: Annotated[str, Field(description="With its number.")]
    care_of: Address | None = None


@tool
def quote(weight: int, to: Address, *, express: bool = False) -> int:
    """Say what a parcel would cost.

    Prices are in cents.

    Args:
        weight: In grams,
            packed.
        to: The address.
    """
    return weight * (2 if express else 1)


@tool(name="parcels.send", side_effect=True, timeout_ms=5_000, max_concurrency=2)
def send(weight: int, *, intent: IntentInfo) -> str:
    """Send a parcel."""
    return f"{intent.intent_id}/{intent.attempt}: {weight}"


# --- calling ---------------------------------------------------------------------------------


def test_a_tool_without_side_effect_is_called_like_its_function() -> None:
    assert quote(3, Address("Elm 1"), express=True) == 6


def test_a_tool_with_a_side_effect_says_how_to_stage_it() -> None:
    with pytest.raises(SideEffectToolError, match=r"stage it with `ctx\.act\('parcels\.send'"):
        send(3, intent=INTENT)


def test_an_invocation_gets_the_intent() -> None:
    assert send.invoke(send.parse_arguments('{"weight":3}'), INTENT) == "i/2: 3"


def test_a_tool_looks_like_its_function() -> None:
    assert inspect.signature(quote).parameters["weight"].annotation is int
    assert quote.__doc__ is not None
    assert quote.__doc__.startswith("Say what")
    assert quote.__module__ == __name__


# --- the schema ------------------------------------------------------------------------------


def test_the_schema_has_descriptions_defaults_and_closed_objects() -> None:
    assert quote.description == "Say what a parcel would cost.\n\nPrices are in cents."
    assert quote.schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["weight", "to"],
        "properties": {
            "weight": {"type": "integer", "description": "In grams, packed."},
            "to": {"$ref": "#/$defs/Address", "description": "The address."},
            "express": {"type": "boolean", "default": False},
        },
        "$defs": {
            "Address": {
                "type": "object",
                "title": "Address",
                "description": "Where to.",
                "additionalProperties": False,
                "required": ["street"],
                "properties": {
                    "street": {"type": "string", "description": "With its number."},
                    "care_of": {
                        "anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}],
                        "default": None,
                    },
                },
            }
        },
    }


class Slow(BaseModel):
    wait: timedelta = timedelta(days=400)
    price: Decimal = Decimal("4.2E+3")
    tags: set[str] = {"a", "b"}


def test_a_default_is_spelled_as_an_argument_would_have_to_be() -> None:
    @tool
    def f(slow: Slow, wait: timedelta = timedelta(days=400)) -> None: ...

    slow = f.schema["$defs"]["Slow"]["properties"]
    assert f.schema["properties"]["wait"]["default"] == "P400D"
    assert [slow[name].get("default") for name in slow] == ["P400D", "4200", ["a", "b"]]


def test_a_default_that_no_argument_could_be_is_not_published() -> None:
    @tool
    def f(x: int = None, y: object = object(), z: int = "7") -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    assert [member.get("default", "none") for member in f.schema["properties"].values()] == [
        "none"
    ] * 3


def test_a_description_in_the_annotation_wins() -> None:
    @tool
    def f(x: Annotated[int, Field(description="From the annotation.")]) -> None:
        """Do.

        Args:
            x: From the docstring.
        """

    assert f.schema["properties"]["x"]["description"] == "From the annotation."


SCHEMA_PROGRAM = """
import json, enum
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Literal
from beam_agents.tools import tool

class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"

@dataclass
class Line:
    color: Color
    kind: Literal["a", "b"]

@tool
def f(lines: list[Line], tags: set[str], either: Line | Color | None = None) -> None: ...

print(json.dumps(f.schema), f.schema_digest.hex())
"""


def test_the_schema_has_the_same_bytes_in_each_process() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", SCHEMA_PROGRAM],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(printed) == 1


def test_the_schema_digest_covers_the_schema() -> None:
    @tool
    def f(x: int) -> None: ...

    @tool(name="g")
    def same(x: int) -> None: ...

    @tool
    def other(x: str) -> None: ...

    assert len(f.schema_digest) == 32
    assert f.schema_digest == same.schema_digest
    assert f.schema_digest != other.schema_digest


# --- options ---------------------------------------------------------------------------------


def make(**options: Any) -> Tool:
    def f(charge: str, amount: int) -> None: ...

    return tool(f, **{"side_effect": True, **options})


def test_options_default_to_the_effectors_settings() -> None:
    made = make()

    assert (made.timeout_ms, made.max_concurrency) == (None, None)
    assert (made.on_crash, made.reconcile, made.requires_approval) == ("reexecute", None, False)
    assert made.strict


def test_options_are_kept() -> None:
    assert (send.name, send.timeout_ms, send.max_concurrency) == ("parcels.send", 5_000, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": ""}, "name=''"),
        ({"name": "a b"}, "name='a b'"),
        ({"name": "a,b"}, "name='a,b'"),
        ({"name": "a\n"}, "name="),
        ({"name": 5}, "name=5 must be a string, printable.*, not this int"),
        ({"name": None}, "name=None must be a string, printable.*, not this NoneType"),
        ({"description": b"x"}, "description=b'x' must be a string, not this bytes"),
        ({"strict": None}, "strict=None must be True or False, not this NoneType"),
        ({"strict": 0}, "strict=0 must be True or False, not this int"),
        ({"side_effect": "no"}, "side_effect='no' must be True or False, not this str"),
        ({"timeout_ms": "1"}, "timeout_ms='1' must be a positive integer, or None, not this str"),
        ({"max_concurrency": 2.0}, "max_concurrency=2.0 must be .*, not this float"),
        ({"on_crash": None}, "on_crash=None must be one of .*, not this NoneType"),
        ({"on_crash": []}, r"on_crash=\[\] must be one of .*, not this list"),
        ({"requires_approval": None}, "requires_approval=None must be .*, not this NoneType"),
        ({"requires_approval": 0}, "requires_approval=0 must be .*, not this int"),
        ({"reconcile": False}, "reconcile=False must be a function, or None, not this bool"),
        ({"timeout_ms": 0}, "timeout_ms=0 must be a positive integer"),
        ({"timeout_ms": 1.5}, r"timeout_ms=1\.5 must be a positive integer"),
        ({"max_concurrency": True}, "max_concurrency=True must be a positive integer"),
        ({"on_crash": "ignore"}, "on_crash='ignore' must be one of 'reexecute', 'reconc"),
        ({"on_crash": "reconcile"}, "belong together"),
        ({"on_crash": "fail", "reconcile": lambda: Unknown()}, "belong together"),
        ({"timeout": "5s"}, "there is no option 'timeout'; there are side_effect, name, desc"),
        ({"requires_approval": "yes"}, "requires_approval='yes' must be True, False, or a fun"),
        ({"reconcile": "yes"}, "reconcile='yes' must be a function"),
        ({"side_effect": False, "on_crash": "fail"}, "on_crash= is about an effect"),
        ({"side_effect": False, "requires_approval": True}, "requires_approval= is about an eff"),
    ],
)
def test_options_that_cannot_be_meant_are_a_definition_error(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ToolDefinitionError, match=message):
        make(**options)


def test_changing_the_schema_that_a_tool_gives_does_not_change_the_tool() -> None:
    given = quote.schema

    given["properties"]["weight"]["type"] = "string"
    given["properties"].clear()

    assert quote.schema["properties"]["weight"]["type"] == "integer"
    assert quote.parse_arguments('{"weight":1,"to":{"street":"a"}}')["weight"] == 1


# --- reconcile -------------------------------------------------------------------------------


def by_intent(intent: IntentInfo) -> Applied:
    return Applied(intent.attempt)


def by_both(amount: int, *, me: IntentInfo) -> Applied:
    return Applied((amount, me.attempt))


def by_everything(**everything: Any) -> Applied:
    return Applied(sorted(everything))


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (by_intent, Applied(2)),
        (by_both, Applied((5, 2))),
        (by_everything, Applied(["amount", "charge"])),
        (lambda charge: Applied(charge), Applied("ch")),
        (lambda intent: Applied(intent.attempt), Applied(2)),
        (lambda: Unknown("no records"), Unknown("no records")),
    ],
)
def test_reconcile_gets_what_it_declares(function: Callable[..., object], answer: object) -> None:
    made = make(reconcile=function)

    assert made.on_crash == "reconcile"
    assert made.reconcile is not None
    assert made.reconcile({"charge": "ch", "amount": 5}, INTENT) == answer


@pytest.mark.parametrize("function", [lambda chrge, intent: None, lambda a, /: None])
def test_reconcile_with_an_unknown_parameter_is_a_definition_error(
    function: Callable[..., object],
) -> None:
    def typed(chrge: str) -> None: ...

    with pytest.raises(ToolDefinitionError, match="reconcile has a parameter 'chrge'"):
        make(reconcile=typed)


# --- requires_approval -----------------------------------------------------------------------


def over_100(arguments: Mapping[str, Any]) -> bool:
    return bool(arguments["amount"] > 100)


def broken(amount: int) -> bool:
    raise RuntimeError


@pytest.mark.parametrize(
    ("rule", "needed"),
    [
        (True, True),
        (False, False),
        (lambda amount: amount > 100, False),
        (lambda amount: amount > 1, True),
        (lambda amount, charge: charge != "ch", False),
        (over_100, False),
        (broken, True),
        (lambda amount: None, True),
        (lambda: False, False),
    ],
)
def test_a_rule_judges_the_arguments_and_in_doubt_asks(rule: Any, needed: bool) -> None:
    assert make(requires_approval=rule).needs_approval({"charge": "ch", "amount": 5}) is needed


async def asking(amount: int) -> bool:
    return False


@pytest.mark.parametrize(
    ("rule", "message"), [(asking, "is async"), (lambda amount, other: True, r"takes \['other'\]")]
)
def test_a_rule_that_cannot_judge_is_a_definition_error(rule: Any, message: str) -> None:
    with pytest.raises(ToolDefinitionError, match=message):
        make(requires_approval=rule)


# --- travelling ------------------------------------------------------------------------------


def test_a_tool_of_a_module_is_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(send)) is send  # noqa: S301


def double(x: int) -> int:
    return 2 * x


def test_another_tool_is_pickled_by_its_function_and_options() -> None:
    made = tool(double, name="twice", timeout_ms=7)

    copy = pickle.loads(pickle.dumps(made))  # noqa: S301

    assert (copy.name, copy.timeout_ms, copy(4)) == ("twice", 7, 8)


# --- outcomes --------------------------------------------------------------------------------


def test_not_applied_can_be_raised_and_returned() -> None:
    declined = NotApplied("card declined", detail={"code": 51})

    assert isinstance(declined, Exception)
    assert str(declined) == "card declined"
    assert declined.detail == {"code": 51}
