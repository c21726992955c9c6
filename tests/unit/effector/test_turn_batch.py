"""Calls of one turn of the event loop are carried out together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from beam_agents.effector.backends.turn_batch import TurnBatch
from beam_agents.effector.ports import StoreUnavailable


class Backend:
    """Answers each call with itself; holds batches back while `gate` is closed."""

    def __init__(self) -> None:
        self.batches: list[list[object]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def carry_out(self, calls: list[object]) -> Sequence[object]:
        self.batches.append(calls)
        await self.gate.wait()
        return calls


async def test_calls_of_one_turn_are_one_batch() -> None:
    backend = Backend()
    batch = TurnBatch(backend.carry_out)

    assert await asyncio.gather(*(batch.submit(n) for n in range(3))) == [0, 1, 2]
    assert await batch.submit(3) == 3
    assert backend.batches == [[0, 1, 2], [3]]


async def test_calls_gather_while_as_many_batches_as_allowed_are_under_way() -> None:
    backend = Backend()
    backend.gate.clear()
    batch = TurnBatch(backend.carry_out, in_flight=2)
    futures = []
    for n in range(5):
        futures.append(batch.submit(n))
        for _ in range(3):  # let the loop turn
            await asyncio.sleep(0)

    assert backend.batches == [[0], [1]]
    backend.gate.set()
    assert await asyncio.gather(*futures) == [0, 1, 2, 3, 4]
    assert backend.batches == [[0], [1], [2, 3, 4]]


async def test_an_error_as_an_answer_is_raised_to_its_caller_only() -> None:
    batch = TurnBatch(Backend().carry_out)

    bad, good = batch.submit(ValueError("mine")), batch.submit("fine")

    with pytest.raises(ValueError, match="mine"):
        await bad
    assert await good == "fine"


async def test_an_error_of_the_batch_is_raised_to_all() -> None:
    async def fail(calls: list[object]) -> Sequence[object]:
        raise StoreUnavailable("gone")

    batch = TurnBatch(fail)

    answers = await asyncio.gather(batch.submit(1), batch.submit(2), return_exceptions=True)

    assert [type(answer) for answer in answers] == [StoreUnavailable, StoreUnavailable]


async def test_a_cancelled_caller_does_not_disturb_the_others() -> None:
    batch = TurnBatch(Backend().carry_out)
    gone, here = batch.submit(1), batch.submit(2)

    gone.cancel()

    assert await here == 2


async def test_closing_waits_for_calls_that_were_made_and_refuses_more() -> None:
    backend = Backend()
    backend.gate.clear()
    batch = TurnBatch(backend.carry_out)
    first = batch.submit(1)
    await asyncio.sleep(0)
    second = batch.submit(2)
    closing = asyncio.ensure_future(batch.aclose())
    await asyncio.sleep(0)

    with pytest.raises(StoreUnavailable):
        batch.submit(3)
    assert not closing.done()
    backend.gate.set()
    await closing
    assert (first.result(), second.result()) == (1, 2)
