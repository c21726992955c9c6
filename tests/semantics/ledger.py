"""The outside world of the semantics tests: a ledger of refunds, and intents that ask for them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.intents import build_intent
from beam_agents.tools import IntentInfo, ToolRegistry, tool

NOW_MS = 1_700_000_000_000
LEASE_MS = 30_000
KEYS = [b"acct-1", b"acct-2", b"acct-3"]
PER_KEY = 2


async def _at_once() -> None:
    """Take no time."""


class Ledger:
    """Refuses a repeated idempotency key, and notes whoever asked.

    Args:
        pause: How long it takes to move money.

    Attributes:
        effects: How often money moved, by intent id.
        asked: The seqs that each key's tools were called with, in order.
        overlapped: The intents of which two attempts ran at the same time.
    """

    def __init__(self, pause: Callable[[], Awaitable[None]] = _at_once) -> None:
        self.effects: Counter[str] = Counter()
        self.asked: defaultdict[bytes, list[int]] = defaultdict(list)
        self.overlapped: set[str] = set()
        running: set[str] = set()

        @tool(side_effect=True)
        async def refund(amount: int, *, intent: IntentInfo) -> int:
            self.asked[intent.entity_key].append(intent.seq)
            if intent.intent_id in running:
                self.overlapped.add(intent.intent_id)
            running.add(intent.intent_id)
            try:
                await pause()
            finally:
                running.discard(intent.intent_id)
            if intent.intent_id not in self.effects:
                self.effects[intent.intent_id] += 1
            return amount

        self.registry = ToolRegistry(refund)


def stream(*, ttl_ms: int = 86_400_000) -> list[ToolIntent]:
    """Some intents of each key, interleaved."""
    return [
        build_intent(
            "refund",
            {"amount": 100 + seq},
            entity_key=key,
            seq=seq,
            created_at_ms=NOW_MS,
            expires_at_ms=NOW_MS + ttl_ms,
        )
        for seq in range(PER_KEY)
        for key in KEYS
    ]


def copies(effector: EffectorHarness) -> dict[str, set[bytes]]:
    """Gather the distinct published bytes of each intent."""
    published: defaultdict[str, set[bytes]] = defaultdict(set)
    for record in effector.result_records:
        value = record.value or b""
        published[ToolResult.FromString(value).intent_id].add(value)
    return dict(published)
