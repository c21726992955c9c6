from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from beam_agents.effector.alarms import Alarms
from beam_agents.effector.testing.quiet import let_callbacks_run
from beam_agents.effector.testing.stepped_clock import SteppedClock


class Ringing:
    def __init__(self) -> None:
        self.clock = SteppedClock()
        self.alarms = Alarms(self.clock)
        self.rung: list[str] = []

    def after(self, ms: int, name: str) -> None:
        self.alarms.after(ms, lambda: self.rung.append(name))

    async def pass_ms(self, ms: int) -> list[str]:
        await let_callbacks_run()
        self.clock.step(self.clock.now_ms() + ms)
        await let_callbacks_run()
        return self.rung


@pytest.fixture
async def ringing() -> AsyncIterator[Ringing]:
    ringing = Ringing()
    task = asyncio.ensure_future(ringing.alarms.run())
    yield ringing
    task.cancel()


async def test_an_alarm_rings_when_it_is_due_and_not_before(ringing: Ringing) -> None:
    ringing.after(100, "a")
    assert await ringing.pass_ms(99) == []
    assert await ringing.pass_ms(1) == ["a"]
    assert await ringing.pass_ms(100) == ["a"]


async def test_a_later_alarm_that_is_due_earlier_wakes_the_sleeper(ringing: Ringing) -> None:
    ringing.after(1_000, "late")
    await let_callbacks_run()
    ringing.after(10, "early")
    assert await ringing.pass_ms(10) == ["early"]
    assert await ringing.pass_ms(990) == ["early", "late"]


async def test_alarms_that_are_due_together_ring_in_the_order_of_their_times(
    ringing: Ringing,
) -> None:
    for ms in (30, 10, 20):
        ringing.after(ms, str(ms))
    assert await ringing.pass_ms(100) == ["10", "20", "30"]


async def test_a_cancelled_alarm_does_not_ring_even_if_an_earlier_one_cancels_it(
    ringing: Ringing,
) -> None:
    second = ringing.alarms.after(20, lambda: ringing.rung.append("second"))
    ringing.alarms.after(10, second.cancel)
    assert await ringing.pass_ms(100) == []


async def test_an_alarm_can_be_moved_on(ringing: Ringing) -> None:
    alarm = ringing.alarms.after(10, lambda: ringing.rung.append("moved"))
    alarm.at_ms += 10
    assert await ringing.pass_ms(10) == []
    assert await ringing.pass_ms(10) == ["moved"]


async def test_a_time_that_is_past_rings_at_once(ringing: Ringing) -> None:
    ringing.after(-5, "past")
    await let_callbacks_run()
    assert ringing.rung == ["past"]


async def test_a_wait_for_another_future_ends_with_it_or_with_the_time(ringing: Ringing) -> None:
    other: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    first, second = ringing.alarms.reaching(other, 10), ringing.alarms.reaching(other, 1_000)
    await ringing.pass_ms(10)
    assert (first.done(), second.done()) == (True, False)
    other.set_result(None)
    await let_callbacks_run()
    assert second.done()
