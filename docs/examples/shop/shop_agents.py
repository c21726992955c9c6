"""Two agents on the same orders: one ships them, one thanks for them."""

from __future__ import annotations

import json
import os

from beam_agents import ActivationContext, ApprovalDenied, Complete, Suspend
from shop_tools import BIG_CENTS, add_points, ship

MINUTE_MS = 60_000


async def shipping(ctx: ActivationContext) -> Complete | Suspend:
    """Ship an order at once, or, if it is a big one, as soon as a person agrees."""
    if not ctx.is_resume:
        order = json.loads(ctx.event)
        parcel = {"order": order["id"], "cents": order["cents"]}
        if order["cents"] <= BIG_CENTS:
            ctx.act(ship, parcel)
            return Suspend(json.dumps({"sent": parcel}).encode(), timeout_ms=10 * MINUTE_MS)
        ctx.request_approval(ship, parcel, summary=f"A big order: {order['id']}")
        return Suspend(json.dumps({"asked": parcel}).encode(), timeout_ms=60 * MINUTE_MS)

    wait = json.loads(ctx.snapshot)
    if "asked" in wait:
        try:
            ctx.act(ship, wait["asked"], approval=ctx.grant())
        except ApprovalDenied as denied:
            return Complete(json.dumps({**wait["asked"], "denied": denied.reason}).encode())
        return Suspend(json.dumps({"sent": wait["asked"]}).encode(), timeout_ms=10 * MINUTE_MS)

    return Complete(json.dumps({**wait["sent"], "parcel": ctx.value()}).encode())


async def thanking(ctx: ActivationContext) -> Complete:
    """Give points, without waiting for them."""
    if os.environ.get("SHOP_BAD_RELEASE"):
        raise RuntimeError("a release that thanks nobody")
    order = json.loads(ctx.event)
    ctx.act(add_points, {"order": order["id"], "points": order["cents"] // 100})
    return Complete()


# By namespace: both see the same keys, and mint intents of their own.
AGENTS = {"shipping": shipping, "thanking": thanking}
