"""What makes it safe to collect garbage seldom."""

from __future__ import annotations

import gc
from collections import Counter

from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.tools import ToolRegistry, tool
from tests.unit.effector.requests import request

INTENTS = 20


async def test_an_intent_leaves_no_cycles_for_the_collector() -> None:
    @tool(side_effect=True)
    async def charge() -> str:
        return "charged"

    async with EffectorHarness(ToolRegistry(charge)) as effector:
        await effector.deliver(request())
        await effector.settle()
        gc.collect()
        gc.disable()
        try:
            for seq in range(1, INTENTS):
                await effector.deliver(request(seq=seq))
            await effector.settle()
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            left = Counter(type(each).__name__ for each in gc.garbage)
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
    assert effector.calls("charge") == INTENTS
    assert not left.keys() & {"Alarm", "Attempt", "Invocation", "Lease", "Work"}
