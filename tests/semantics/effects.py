"""The outside world of the semantics tests: a ledger of effects, and intents that ask for them."""

from __future__ import annotations

from collections import Counter, defaultdict

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.intents import intent_id_for
from beam_agents.tools import IntentInfo, ToolRegistry, tool

NOW_MS = 1_700_000_000_000


class Ledger:
    """A service that refuses a repeated idempotency key, and one that does not ask for any."""

    def __init__(self) -> None:
        self.keyed: dict[str, int] = {}
        self.effects: Counter[str] = Counter()
        self.asked: defaultdict[bytes, list[int]] = defaultdict(list)

    def registry(self) -> ToolRegistry:
        @tool(side_effect=True)
        async def refund(amount: int, *, intent: IntentInfo) -> int:
            self.asked[intent.entity_key].append(intent.seq)
            if intent.intent_id not in self.keyed:
                self.keyed[intent.intent_id] = amount
                self.effects[intent.intent_id] += 1
            return self.keyed[intent.intent_id]

        return ToolRegistry(refund)


def refund_intent(key: bytes, seq: int, *, ttl_ms: int = 3_600_000) -> ToolIntent:
    return ToolIntent(
        intent_id=intent_id_for(key, seq, 0),
        entity_key=key,
        seq=seq,
        kind=ToolIntent.TOOL,
        tool_name="refund",
        args_json=f'{{"amount":{100 + seq}}}',
        created_at_ms=NOW_MS,
        expires_at_ms=NOW_MS + ttl_ms,
    )


def copies(effector: EffectorHarness) -> dict[str, set[bytes]]:
    """Gather the distinct published bytes of each intent."""
    published: defaultdict[str, set[bytes]] = defaultdict(set)
    for record in effector.result_records:
        value = record.value or b""
        published[ToolResult.FromString(value).intent_id].add(value)
    return dict(published)


def without_repeats(values: list[int]) -> list[int]:
    """Keep the first of each."""
    return list(dict.fromkeys(values))
