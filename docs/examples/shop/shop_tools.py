"""What the shop's effectors run: `beam-agents-effector --registry shop_tools:TOOLS`.

Each effect is one row, keyed by the intent's id: a call that comes again changes nothing.
Here all of them are in one sqlite file; yours are an API that takes an idempotency key.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

from beam_agents.tools import IntentInfo, ToolRegistry, tool

BIG_CENTS = 50_000


@tool(
    name="orders.ship",
    side_effect=True,
    requires_approval=lambda cents: cents > BIG_CENTS,
)
def ship(order: str, cents: int, *, intent: IntentInfo) -> str:
    """Ship an order; a big one only with a person's approval.

    Args:
        order: The order.
        cents: What it is worth.
    """
    _record(intent.intent_id, f"shipped {order}")
    return f"parcel-{order}"


@tool(name="loyalty.add_points", side_effect=True)
def add_points(order: str, points: int, *, intent: IntentInfo) -> None:
    """Thank a customer for an order.

    Args:
        order: The order.
        points: How many.
    """
    _record(intent.intent_id, f"{points} points for {order}")


def _record(intent_id: str, what: str) -> None:
    with closing(sqlite3.connect(os.environ["SHOP_EFFECTS"], timeout=30)) as db, db:
        db.execute("CREATE TABLE IF NOT EXISTS effects (intent_id TEXT PRIMARY KEY, what TEXT)")
        db.execute("INSERT OR IGNORE INTO effects VALUES (?, ?)", (intent_id, what))


TOOLS = ToolRegistry(ship, add_points)
