"""Three effects at once, of which one ends in doubt.

A booking needs a flight, a hotel and a car. All three may run beside one another
(`in_order=False`), and the agent waits for all answers, whatever they are. An answer
of status ERROR with outcome UNKNOWN means that the effect may have happened: the
agent neither repeats it nor forgets it, but says so.

Run it:  python docs/examples/parallel_effects.py
"""

from __future__ import annotations

import json

from beam_agents import ActivationContext, Complete, EffectError, Suspend
from beam_agents._protos import ToolResult
from beam_agents.core.testing import AgentHarness

PARTS = ("flight", "hotel", "car")


# region: agent
async def book(ctx: ActivationContext) -> Complete | Suspend:
    """Book all parts of a trip, then say what is booked, what is not, and what is in doubt."""
    if not ctx.is_resume:
        trip = ctx.event.decode()
        ids = {part: ctx.act(f"book.{part}", {"trip": trip}, in_order=False) for part in PARTS}
        return Suspend(json.dumps(ids).encode(), timeout_ms=600_000, wait_for="all")
    ids = json.loads(ctx.snapshot)
    return Complete(json.dumps({part: verdict(ctx, ids[part]) for part in PARTS}).encode())


def verdict(ctx: ActivationContext, intent_id: str) -> object:
    try:
        return ctx.value(intent_id)
    except EffectError as failure:
        if failure.outcome == ToolResult.UNKNOWN:
            return f"in doubt, look up {intent_id}"
        return f"not booked: {failure.message}"


# endregion: agent


def main() -> None:
    harness = AgentHarness(book)
    harness.event(b"trip-1", b"Lisbon", at_ms=1_000)
    flight, hotel, car = harness.intents
    assert all(intent.may_overlap for intent in harness.intents)

    # In any order, and doubled: topics deliver as they like.
    harness.result(
        car,
        status=ToolResult.ERROR,
        outcome=ToolResult.UNKNOWN,
        error_message="timed out",
        at_ms=2_000,
    )
    harness.result(flight, b'"TP-1"', at_ms=3_000)
    harness.result(flight, b'"TP-1"', at_ms=3_000)
    assert harness.outputs == []
    harness.result(
        hotel,
        status=ToolResult.ERROR,
        outcome=ToolResult.NOT_APPLIED,
        error_message="no rooms",
        at_ms=4_000,
    )

    (output,) = map(json.loads, harness.outputs)
    assert output["flight"] == "TP-1"
    assert output["hotel"] == "not booked: no rooms"
    assert output["car"] == f"in doubt, look up {car.intent_id}"
    print("parallel_effects: ok")


if __name__ == "__main__":
    main()
