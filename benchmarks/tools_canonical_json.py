"""What does canonical JSON cost over `json.dumps(sort_keys=True)`, which is not canonical?"""

from __future__ import annotations

import json
from typing import Any

from orders import order_arguments
from paired import Pair, run

from beam_agents.tools.canonical_json import canonical_json


def pair(name: str, value: dict[str, Any], limit: float) -> Pair:
    return Pair(
        name, lambda: canonical_json(value), lambda: json.dumps(value, sort_keys=True), limit
    )


def with_whole_doubles() -> dict[str, Any]:
    """Make every value be written by itself: a whole double is no plain value."""
    arguments = order_arguments(doubles=True)
    for line in arguments["lines"]:
        line["weight"] = 350.0
    return arguments


if __name__ == "__main__":
    run(
        "Canonical JSON of an arguments object of 1 KiB",
        "json.dumps",
        [
            pair("without doubles", order_arguments(doubles=False), 1.5),
            pair("with doubles", order_arguments(doubles=True), 4.0),
            pair("with whole doubles", with_whole_doubles(), 4.0),
        ],
    )
