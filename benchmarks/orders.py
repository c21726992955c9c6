"""Typical arguments of about 1 KiB: an order, with prices in cents or as doubles."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass
class Line:
    sku: str
    count: int
    gift: bool
    note: str | None
    price: int
    weight: int


@dataclass
class WeighedLine:
    sku: str
    count: int
    gift: bool
    note: str | None
    price: float
    weight: float


@dataclass
class Address:
    name: str
    street: str
    city: str
    zip: str
    country: str


def order_arguments(*, doubles: bool) -> dict[str, Any]:
    lines = [
        {
            "sku": f"SKU-{index:06}",
            "count": index + 1,
            "gift": index % 2 == 0,
            "note": None if index % 3 else "fragile, do not stack",
            "price": 12.49 + index if doubles else 1249 + index,
            "weight": 0.35 if doubles else 350,
        }
        for index in range(7)
    ]
    return {
        "customer_id": "cus_8731",
        "lines": lines,
        "ship_to": {
            "name": "Ann Example",
            "street": "12 Elm Street",
            "city": "Springfield",
            "zip": "12345",
            "country": "US",
        },
        "labels": {"source": "web", "campaign": "spring", "segment": "returning"},
        "remark": "please ring at the neighbour's door if nobody opens",
    }


def order_text(*, doubles: bool) -> str:
    text = json.dumps(order_arguments(doubles=doubles))
    assert 900 < len(text) < 1150, len(text)
    return text
