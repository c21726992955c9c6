"""How often an intent asks the store, counted at the port, whatever the backend."""

from __future__ import annotations

from typing import Any

import pytest

from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.ports import DedupStore
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.intents import Status
from beam_agents.tools import ToolRegistry, tool
from tests.unit.effector.requests import request


class CountedStore(MemoryStore):
    """Notes the name of every call of the port."""

    def __init__(self) -> None:
        super().__init__(clock=SteppedClock())
        self.calls: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if name in _OPERATIONS:
            self.calls.append(name)
        return super().__getattribute__(name)


_OPERATIONS = {
    name for name in vars(DedupStore) if not name.startswith("_") and name not in ("open", "aclose")
}


@tool(side_effect=True)
async def charge() -> str:
    """Charge."""
    return "charged"


@tool(name="charge_once", side_effect=True, on_crash="fail")
async def charge_once() -> str:
    """Charge, or fail after a crash."""
    return "charged"


REGISTRY = ToolRegistry(charge, charge_once)


async def asked(**intent: Any) -> list[str]:
    """Say what an intent asks a store that has never seen it."""
    store = CountedStore()
    async with EffectorHarness(REGISTRY, store=store) as effector:
        await effector.deliver(request(**intent))
        await effector.settle()
        assert len(effector.results) == 1
    return store.calls


async def test_a_fresh_intent_asks_the_store_twice() -> None:
    assert await asked() == ["claim", "complete"]


async def test_a_tool_that_must_not_run_twice_asks_once_more() -> None:
    assert await asked(tool_name="charge_once") == ["claim", "mark_invoked", "complete"]


async def test_a_duplicate_asks_the_store_once() -> None:
    store = CountedStore()
    async with EffectorHarness(REGISTRY, store=store) as effector:
        await effector.deliver(request())
        await effector.settle()
        store.calls.clear()
        await effector.deliver(request())
        await effector.settle()
        assert [result.status for result in effector.results] == [Status.OK] * 2
    assert store.calls == ["claim"]


@pytest.mark.parametrize("late_ms", [0, 600_000], ids=["expired", "forgotten"])
async def test_an_expired_intent_asks_the_store_once(late_ms: int) -> None:
    assert await asked(ttl_ms=-late_ms) == ["record_refusal"]


async def test_a_redelivery_of_an_expired_intent_asks_the_store_once() -> None:
    store = CountedStore()
    async with EffectorHarness(REGISTRY, store=store) as effector:
        for _ in range(2):
            store.calls.clear()
            await effector.deliver(request(ttl_ms=-1))
            await effector.settle()
        assert [result.status for result in effector.results] == [Status.EXPIRED] * 2
    assert store.calls == ["record_refusal"]
