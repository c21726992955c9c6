from __future__ import annotations

import asyncio

import pytest

from beam_agents.effector.interruptions import Withdrawn
from beam_agents.effector.permits import Pool, ToolPermits
from beam_agents.effector.ports import Delivery
from beam_agents.effector.testing.quiet import let_callbacks_run
from beam_agents.effector.work import Work
from beam_agents.tools import tool
from tests.unit.effector.requests import request


def work() -> Work:
    return Work(Delivery("intents/0", 0, None, None), request())


async def test_permits_are_given_in_the_order_in_which_they_were_asked_for() -> None:
    pool, order = Pool(1), []
    await pool.take(work())

    async def ask(name: str) -> None:
        await pool.take(work())
        order.append(name)

    tasks = [asyncio.ensure_future(ask(name)) for name in "abc"]
    await let_callbacks_run()
    for expected in ("a", "ab", "abc"):
        pool.give_back()
        await let_callbacks_run()
        assert "".join(order) == expected
    await asyncio.gather(*tasks)


async def test_a_withdrawn_wait_takes_no_permit_and_passes_on_one_just_given() -> None:
    pool, waiting = Pool(1), work()
    await pool.take(work())
    withdrawn = asyncio.ensure_future(pool.take(waiting))
    next_in_line = asyncio.ensure_future(pool.take(work()))
    await let_callbacks_run()
    waiting.withdraw()
    pool.give_back()
    with pytest.raises(Withdrawn):
        await withdrawn
    await next_in_line
    assert not pool.take_now()
    pool.give_back()
    assert pool.take_now()


async def test_a_permit_given_to_a_task_that_is_cancelled_in_that_moment_is_not_lost() -> None:
    pool = Pool(1)
    await pool.take(work())
    cancelled = asyncio.ensure_future(pool.take(work()))
    await let_callbacks_run()
    pool.give_back()
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert pool.take_now()


async def test_withdrawn_work_takes_no_permit_at_all() -> None:
    pool, late = Pool(0), work()
    late.withdraw()
    with pytest.raises(Withdrawn):
        await pool.take(late)
    pool.give_back()
    assert pool.take_now()


async def test_a_bounded_tool_needs_its_own_permit_and_one_of_all() -> None:
    @tool(side_effect=True, max_concurrency=1)
    async def bounded() -> None: ...

    permits = ToolPermits(2)
    assert permits.of(bounded).take_now()
    assert not permits.of(bounded).take_now()
    assert permits.of(None).take_now()
    assert not permits.of(None).take_now()
    permits.of(bounded).give_back()
    assert permits.of(bounded).take_now()
