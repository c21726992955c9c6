"""The tool of the chaos story: its ledger knows every call, and pays once per intent id.

The ledger is a file of JSON lines, one written in a single append on entering the tool:
the order of its lines is the order in which tools were entered, whichever process ran them.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

from beam_agents.tools import IntentInfo, ToolRegistry, tool

FOLDER_VARIABLE = "CHAOS_FOLDER"


def ledger_of(folder: Path) -> Path:
    return folder / "ledger.jsonl"


def payments_of(folder: Path) -> Path:
    """The folder of effects: a file for each intent id, as a keyed upsert would have a row."""
    return folder / "payments"


@tool(name="payments.pay", side_effect=True)
async def pay(amount: int, takes_ms: int, *, intent: IntentInfo) -> dict[str, int]:
    """Pay an amount, once per intent id.

    Args:
        amount: In cents.
        takes_ms: How long the provider takes.
    """
    folder = Path(os.environ[FOLDER_VARIABLE])
    line = {
        "intent_id": intent.intent_id,
        "attempt": intent.attempt,
        "at_ms": time.time_ns() // 1_000_000,
        "worker": str(os.getpid()),
    }
    _append(ledger_of(folder), json.dumps(line))
    await asyncio.sleep(takes_ms / 2_000)
    (payments_of(folder) / intent.intent_id).write_text(str(amount))
    await asyncio.sleep(takes_ms / 2_000)
    return {"paid": amount}


def _append(path: Path, line: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


TOOLS = ToolRegistry(pay)
