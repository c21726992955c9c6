"""Order per entity key, parallel across keys, and the bounds on both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.intents import Status
from beam_agents.tools import ToolRegistry, tool
from tests.unit.effector.requests import Gate, request


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def effector(gate: Gate) -> AsyncIterator[EffectorHarness]:
    async with EffectorHarness(gate.registry) as harness:
        yield harness


async def deliver(effector: EffectorHarness, *overlaps: bool, key: bytes = b"acct-1") -> None:
    """Deliver numbered intents of one key; True for one that may overlap."""
    for n, may_overlap in enumerate(overlaps):
        await effector.deliver(request(args={"n": n}, seq=n, key=key, may_overlap=may_overlap))
    await effector.settle()


async def test_intents_of_one_key_run_one_after_the_other(
    effector: EffectorHarness, gate: Gate
) -> None:
    await deliver(effector, False, False, False)
    assert gate.entered == [0]
    gate.open()
    await effector.settle()
    assert gate.left == [0, 1, 2]


async def test_intents_of_different_keys_of_a_partition_run_together(
    effector: EffectorHarness, gate: Gate
) -> None:
    await deliver(effector, False, key=b"A")
    await deliver(effector, False, key=b"B")
    assert gate.entered == [0, 0]


async def test_order_goes_by_the_intents_key_and_not_by_the_records(
    effector: EffectorHarness, gate: Gate
) -> None:
    for n, key in enumerate((b"x", b"y")):
        await effector.deliver(request(args={"n": n}, seq=n), key=key, partition=n)
    await effector.settle()
    assert gate.entered == [0]


@pytest.mark.parametrize(
    ("overlaps", "together"),
    [
        ((True, True, True), [0, 1, 2]),
        ((False, True, True), [0]),
        ((True, True, False), [0, 1]),
        ((True, False, True), [0]),
    ],
)
async def test_an_intent_overlaps_only_if_all_its_unfinished_predecessors_may(
    effector: EffectorHarness, gate: Gate, overlaps: tuple[bool, ...], together: list[int]
) -> None:
    await deliver(effector, *overlaps)
    assert gate.entered == together
    gate.open()
    await effector.settle()
    assert sorted(gate.left) == list(range(len(overlaps)))


async def test_a_group_that_may_overlap_starts_as_soon_as_its_predecessor_has_its_result() -> None:
    gates = [asyncio.Event() for _ in range(3)]
    entered = []

    @tool(side_effect=True)
    async def charge(n: int) -> None:
        entered.append(n)
        await gates[n].wait()

    async with EffectorHarness(ToolRegistry(charge)) as effector:
        await deliver(effector, False, True, True)
        gates[0].set()
        await effector.settle()
        assert entered == [0, 1, 2]
        for gate in gates:
            gate.set()


async def test_the_next_intent_starts_only_after_the_result_before_it_is_published() -> None:
    seen: list[int] = []

    @tool(side_effect=True)
    async def charge(n: int) -> None:
        seen.append(len(running.results))

    async with EffectorHarness(ToolRegistry(charge)) as running:
        await deliver(running, False, False, False)
        assert seen == [0, 1, 2]


async def test_no_more_tools_run_at_once_than_allowed(gate: Gate) -> None:
    async with EffectorHarness(gate.registry, max_in_flight=2) as effector:
        for key in (b"A", b"B", b"C"):
            await deliver(effector, False, key=key)
        assert len(gate.entered) == 2
        gate.open()
        await effector.settle()
        assert len(gate.left) == 3


async def test_a_tools_own_bound_does_not_hold_up_other_tools() -> None:
    gate = Gate(max_concurrency=1)

    @gate.registry.tool(side_effect=True)
    async def fine() -> None: ...

    async with EffectorHarness(gate.registry) as effector:
        for key in (b"A", b"B"):
            await deliver(effector, False, key=key)
        await effector.deliver(request("fine", key=b"C"))
        await effector.settle()
        assert len(gate.entered) == 1
        assert [result.tool_name for result in effector.results] == ["fine"]
        gate.open()
        await effector.settle()
        assert len(gate.left) == 2


async def test_a_permit_is_given_back_while_another_worker_is_waited_for() -> None:
    gate = Gate(max_concurrency=1)
    async with EffectorHarness(gate.registry) as first:
        await first.deliver(request())
        await first.settle()
        async with first.second_worker() as second:
            await second.deliver(request())  # busy
            await second.deliver(request(key=b"acct-2"))
            await second.settle()
            assert len(gate.entered) == 2
            gate.open()
            await second.advance(3_000)
            assert [result.status for result in second.results] == [Status.OK] * 3


async def test_a_slow_key_holds_back_neither_the_others_nor_more_than_their_commit() -> None:
    gate = Gate()

    @gate.registry.tool(side_effect=True)
    async def fine() -> None: ...

    async with EffectorHarness(gate.registry) as effector:
        await effector.deliver(request(key=b"slow"))
        for n in range(20):
            await effector.deliver(request("fine", key=b"%d" % n))
        await effector.settle()
        assert len(effector.results) == 20
        assert effector.committed() == 0
        await effector.kill()
        gate.open()
        await effector.restart()
        await effector.advance(32_000)
        assert effector.committed() == 21
        assert effector.calls("fine") == 20


async def test_a_partition_is_read_no_further_than_its_waiting_records_allow() -> None:
    gate = Gate()
    async with EffectorHarness(gate.registry, max_waiting=10, max_in_flight=1) as effector:
        for n in range(2_000):
            await effector.deliver(request(seq=n))
        await effector.deliver(request(key=b"other"), partition=1)
        await effector.settle()
        assert effector.handed_out(0) <= 500  # one batch beyond the bound
        gate.open()
        await effector.settle()
        assert effector.committed() == 2_000
        assert len(effector.results) == 2_001


async def test_a_partition_does_not_run_ahead_of_its_oldest_record_without_bound() -> None:
    gate = Gate()

    @gate.registry.tool(side_effect=True)
    async def fine() -> None: ...

    async with EffectorHarness(gate.registry, max_uncommitted=100) as effector:
        await effector.deliver(request(key=b"slow"))
        for n in range(2_000):
            await effector.deliver(request("fine", key=b"%d" % n))
        await effector.settle()
        assert len(effector.results) == 499
        gate.open()
        await effector.settle()
        assert effector.committed() == 2_001
