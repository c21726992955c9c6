"""Typed user code: what type checkers infer of tools. Checked by them, never run.

Mistakes are marked as ignored; an ignored mistake that a checker does not find is an
error in itself.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from functools import partial
from typing import Any

from typing_extensions import Never, assert_type

from beam_agents.intents import Outcome, build_intent
from beam_agents.tools import (
    Applied,
    IntentInfo,
    NotApplied,
    Retryable,
    Tool,
    ToolRegistry,
    Unknown,
    canonical_json,
    encode_result,
    parse_json,
    tool,
)

# --- a tool without side effect keeps its signature ------------------------------------------


@tool
def bare(x: int, *, y: str = "") -> bytes:
    return y.encode() * x


@tool(name="named", description="With options.", timeout_ms=5_000)
def with_options(x: int) -> list[str]:
    return [str(x)]


@tool()
async def asynchronous(x: int) -> float:
    return float(x)


assert_type(bare(1), bytes)
assert_type(bare(1, y="a"), bytes)
assert_type(with_options(x=1), list[str])


async def call() -> None:
    assert_type(await asynchronous(1), float)


# --- one with a side effect never returns from a call ----------------------------------------


def reconcile(intent: IntentInfo) -> Applied | NotApplied | Unknown:
    return Applied("done") if intent.attempt > 1 else Unknown()


@tool(side_effect=True, max_concurrency=3, reconcile=reconcile)
def refund(charge: str, amount: int, *, intent: IntentInfo) -> str:
    if not amount:
        raise NotApplied("nothing to refund", detail={"charge": charge})
    raise Retryable("later", retry_after_ms=100, outcome=Outcome.NOT_APPLIED)


def is_large(amount: int) -> bool:
    return amount > 100


@tool(side_effect=True, requires_approval=is_large)
def pay(amount: int) -> None: ...


@tool(side_effect=True, requires_approval=lambda amount, to: amount > 100 or not to)
def send(amount: int, to: str) -> None: ...


def call_refund(intent: IntentInfo) -> Never:
    refund("ch", 1, intent=intent)


def call_refund_as_an_agent_would() -> Never:
    refund("ch", 1)  # not for want of the intent: no call of it is right


# --- a variable may say whether there is one -------------------------------------------------


def decorated(has_effect: bool) -> None:
    def find(x: int) -> str:
        return str(x)

    @tool(side_effect=has_effect)
    def search(x: int) -> str:
        return str(x)

    assert_type(tool(find, side_effect=has_effect)(1), str)
    assert_type(search(1), str)


# --- other callables -------------------------------------------------------------------------


class Service:
    def find(self, name: str) -> int | None:
        return len(name) or None

    def __call__(self, name: str) -> str:
        return name


def scaled(factor: int, x: int) -> int:
    return factor * x


assert_type(tool(Service().find)("x"), int | None)
assert_type(tool(Service(), name="service")("x"), str)
assert_type(tool(partial(scaled, 2))(3), int)

# --- registries hold any tool ----------------------------------------------------------------

registry = ToolRegistry(bare, with_options, asynchronous, refund, pay)


@registry.tool
def registered(x: int) -> int:
    return x


@registry.tool(side_effect=True)
def registered_effect(x: int) -> int:
    return x


assert_type(registered(1), int)
assert_type(registry["bare"], Tool[..., Any])
assert_type([each.name for each in registry], list[str])
assert_type(refund.parse_arguments(b"{}"), dict[str, object])
assert_type(refund.schema_digest, bytes)
assert_type(encode_result({"a": 1}), bytes)
assert_type(canonical_json(parse_json("[1]")), bytes)

intent = build_intent("refund", {"charge": "ch", "amount": 1}, entity_key=b"acct-1")
assert_type(refund.invoke({"amount": 1}, IntentInfo.of(intent)), object)

# --- mistakes --------------------------------------------------------------------------------

bare("1")  # type: ignore[arg-type]
bare(1, z=2)  # type: ignore[call-arg]
text: str = bare(1)  # type: ignore[assignment]
tool(timeout="5s")  # type: ignore[call-overload]
tool(name=5)  # type: ignore[call-overload]
ToolRegistry(print)  # type: ignore[arg-type]
a_tool: Tool = print  # type: ignore[assignment]
