"""What does a tool's invocation cost over validating by pydantic and dumping by json?"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from orders import Address, Line, WeighedLine, order_text
from paired import Pair, run
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from beam_agents.tools import Tool, encode_result, tool


class Order(TypedDict):
    customer_id: str
    lines: list[Line]
    ship_to: Address
    labels: dict[str, str]
    remark: str


class WeighedOrder(TypedDict):
    customer_id: str
    lines: list[WeighedLine]
    ship_to: Address
    labels: dict[str, str]
    remark: str


def accept(
    customer_id: str, lines: list[Line], ship_to: Address, labels: dict[str, str], remark: str
) -> dict[str, Any]:
    return {"customer": customer_id, "lines": len(lines), "city": ship_to.city, "labels": labels}


def accept_weighed(
    customer_id: str,
    lines: list[WeighedLine],
    ship_to: Address,
    labels: dict[str, str],
    remark: str,
) -> dict[str, Any]:
    return {"customer": customer_id, "lines": len(lines), "city": ship_to.city, "labels": labels}


def pair(
    name: str, text: str, made: Tool, adapter: TypeAdapter[Any], function: Callable[..., object]
) -> Pair:
    return Pair(
        name,
        lambda: encode_result(made.invoke(made.parse_arguments(text))),
        lambda: json.dumps(function(**adapter.validate_json(text))),
        3.0,
    )


if __name__ == "__main__":
    run(
        "Validate, call, encode: arguments of 1 KiB",
        "pydantic and json",
        [
            pair(
                "without doubles",
                order_text(doubles=False),
                tool(accept),
                TypeAdapter(Order),
                accept,
            ),
            pair(
                "with doubles",
                order_text(doubles=True),
                tool(accept_weighed),
                TypeAdapter(WeighedOrder),
                accept_weighed,
            ),
        ],
    )
