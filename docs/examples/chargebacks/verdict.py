"""What the demo's run came to: read back from the bus and the books, not from the run itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from beam_agents._protos import Completion, ToolIntent, ToolResult
from beam_agents.embedded import EmbeddedBus
from chargebacks import Chargeback
from ledger import Ledger


@dataclass(frozen=True)
class Verdict:
    """The counts, and every way in which they are not what they must be."""

    counts: dict[str, int]
    faults: list[str]


def judge(events: Sequence[Chargeback], bus: EmbeddedBus, ledger: Ledger) -> Verdict:
    """Count, and compare: an output for every event, and exactly one refund for each."""
    books = ledger.totals()
    intents = [ToolIntent.FromString(r.value or b"") for r in bus.records("intents")]
    results = [ToolResult.FromString(r.value or b"") for r in bus.records("results")]
    outputs = [Completion.FromString(r.value or b"") for r in bus.records("completions")]
    answered = {str(json.loads(done.output)["event_id"]) for done in outputs}
    counts = {
        "events": len(events),
        "refunds asked": len({intent.intent_id for intent in intents}),
        "refunds performed": books.refunds,
        "invocations received by the ledger": books.invocations,
        "duplicates refused by the ledger": books.duplicates_refused,
        "results": len({result.intent_id for result in results}),
        "resumes": len({(done.entity_key, done.seq) for done in outputs}),
        "errors": len(bus.records("errors")),
    }
    faults = [f"{e.event_id} got no output" for e in events if e.event_id not in answered]
    asked = Counter((e.charge_id, e.amount_cents) for e in events)
    faults += _differences(asked, ledger.refunds())
    return Verdict(counts, faults)


def _differences(asked: Counter[tuple[str, int]], refunded: Counter[tuple[str, int]]) -> list[str]:
    return [
        f"charge {charge}: {refunded[charge, cents]} refunds of {cents} cents, not {times}"
        for (charge, cents), times in (asked | refunded).items()
        if refunded[charge, cents] != asked[charge, cents]
    ]
