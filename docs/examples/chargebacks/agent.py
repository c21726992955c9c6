"""The agent of this example: a chargeback asks for a refund, and its answer is reported."""

from __future__ import annotations

import json

from beam_agents import ActivationContext, Complete, Suspend

REFUND_TIMEOUT_MS = 10 * 60_000


async def on_chargeback(ctx: ActivationContext) -> Complete | Suspend:
    """Ask for the refund and suspend; on the resume, say what became of it."""
    if not ctx.is_resume:
        event = json.loads(ctx.event)
        ctx.act(
            "payments.refund",
            {"charge_id": event["charge_id"], "amount_cents": event["amount_cents"]},
        )
        return Suspend(snapshot=ctx.event, timeout_ms=REFUND_TIMEOUT_MS)
    event = json.loads(ctx.snapshot)
    receipt = ctx.value()
    return Complete(output=json.dumps({"event_id": event["event_id"], "receipt": receipt}).encode())
