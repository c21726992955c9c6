"""A new release of an agent, and the suspensions that the old one left.

Effects may take days; releases do not wait for them. `Suspend(version=…)` numbers the
format of a snapshot, and the new release reads both: its own, and the old one's.

Run it:  python docs/examples/new_release.py
"""

from __future__ import annotations

import json

from beam_agents import ActivationContext, Complete, Suspend
from beam_agents.core.testing import AgentHarness

WEEK_MS = 7 * 86_400_000


async def first_release(ctx: ActivationContext) -> Complete | Suspend:
    """Kept the order as plain text."""
    if not ctx.is_resume:
        ctx.act("warehouse.ship", {"order": ctx.event.decode()})
        return Suspend(ctx.event, timeout_ms=WEEK_MS, version=1)
    return Complete(b"shipped " + ctx.snapshot)


# region: agent
async def second_release(ctx: ActivationContext) -> Complete | Suspend:
    """Keeps JSON, and still reads plain text."""
    if not ctx.is_resume:
        order = ctx.event.decode()
        ctx.act("warehouse.ship", {"order": order})
        kept = {"order": order, "asked_at_ms": ctx.now_ms}
        return Suspend(json.dumps(kept).encode(), timeout_ms=WEEK_MS, version=2)
    return Complete(f"shipped {order_of(ctx)}".encode())


def order_of(ctx: ActivationContext) -> str:
    match ctx.snapshot_version:
        case 1:
            return ctx.snapshot.decode()
        case 2:
            return str(json.loads(ctx.snapshot)["order"])
        case newer:
            # The resume is held with its answers: a retry by a later release goes on.
            raise ValueError(f"this release cannot read snapshots of version {newer}")


# endregion: agent


def main() -> None:
    old, new = AgentHarness(first_release), AgentHarness(second_release)
    old.event(b"order-1", b"17", at_ms=1_000)
    new.set_cell(b"order-1", old.cell(b"order-1"))  # the state outlives the release
    new.event(b"order-2", b"18", at_ms=2_000)

    new.result(old.intents[0], at_ms=3_000)
    new.result(new.intents[0], at_ms=4_000)

    assert new.outputs == [b"shipped 17", b"shipped 18"]
    assert new.errors == []
    print("new_release: ok")


if __name__ == "__main__":
    main()
