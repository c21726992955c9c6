"""The tools of this example: imported by the pipeline and by the effectors alike.

The effector is started with `--registry payments:TOOLS`; it has no Beam, so this
module must not need any.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache

from beam_agents.tools import IntentInfo, ToolRegistry, tool
from ledger import Ledger

# How long this provider takes over a refund. Long enough to be killed in the middle of one.
PROVIDER_LATENCY_S = 0.02


@lru_cache(maxsize=1)
def _ledger() -> Ledger:
    return Ledger(os.environ["LEDGER"])


@tool(name="payments.refund", side_effect=True)
def refund(charge_id: str, amount_cents: int, *, intent: IntentInfo) -> dict[str, object]:
    """Give a charge back to the customer.

    The intent's id is the idempotency key: whoever performs this intent again,
    after a crash or a lost reply, presents the same key, and no money moves twice.

    Args:
        charge_id: The charge that the customer disputes.
        amount_cents: How much to give back.
    """
    ledger = _ledger()
    ledger.receive(intent.intent_id, charge_id, amount_cents)
    time.sleep(PROVIDER_LATENCY_S)
    ledger.move_money(intent.intent_id)
    return {"refund": f"re_{intent.intent_id[:8]}", "amount_cents": amount_cents}


TOOLS = ToolRegistry(refund)
