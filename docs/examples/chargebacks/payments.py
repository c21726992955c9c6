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

# How long a request takes to the provider, and its reply back. A worker may be killed in
# either: before the money moved, or after it moved and before anybody here knows.
LATENCY_S = int(os.environ.get("PROVIDER_LATENCY_MS", "10")) / 1000


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
    time.sleep(LATENCY_S)
    ledger.move_money(intent.intent_id)
    time.sleep(LATENCY_S)
    return {"refund": f"re_{intent.intent_id[:8]}", "amount_cents": amount_cents}


TOOLS = ToolRegistry(refund)
