"""What an activation sets in context variables does not reach another."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

from beam_agents.core import loop
from beam_agents.core.agent import Complete
from beam_agents.core.context import ActivationContext
from beam_agents.core.own_context import in_own_context
from beam_agents.core.testing import AgentHarness
from beam_agents.core.time_limit import TimeLimit
from tests.unit.core.agents import KEY
from tests.unit.core.test_bundle import outputs, run, session

TENANT: ContextVar[bytes] = ContextVar("TENANT", default=b"nobody")


class SetsATenant:
    async def __call__(self, ctx: ActivationContext) -> Complete:
        before = TENANT.get()
        TENANT.set(ctx.event)
        await asyncio.sleep(0)
        return Complete(before + b" " + TENANT.get())


def test_a_context_variable_does_not_leak_into_the_next_activation() -> None:
    first, second = session(b"a", b"1", b"2"), session(b"b", b"3")

    run(SetsATenant(), [first, second], limit=1)

    assert outputs(first) == [(0, b"nobody 1"), (1, b"nobody 2")]
    assert outputs(second) == [(0, b"nobody 3")]


def test_a_context_variable_holds_across_awaits_beside_other_activations() -> None:
    sessions = [session(b"%d" % index, b"%d" % index) for index in range(20)]

    run(SetsATenant(), sessions)

    assert [outputs(each)[0][1] for each in sessions] == [b"nobody %d" % i for i in range(20)]


def test_an_agent_may_return_any_awaitable() -> None:
    def agent(ctx: ActivationContext) -> asyncio.Future[Complete]:
        return asyncio.ensure_future(asyncio.sleep(0, Complete(b"done")))

    harness = AgentHarness(agent)
    harness.event(KEY, b"e")

    assert harness.outputs == [b"done"]


def test_a_cancellation_from_outside_reaches_the_call() -> None:
    caught: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            caught.append("cancelled")
            raise

    async def waits_in_its_own() -> None:
        await in_own_context(waits(), TimeLimit(60_000).bound)

    async def cancels() -> None:
        task = asyncio.ensure_future(waits_in_its_own())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    loop.run(cancels())

    assert caught == ["cancelled"]
