"""Keys of one bundle run beside one another, events of one key after one another."""

from __future__ import annotations

import asyncio

import pytest

from beam_agents._protos import AgentEnvelope
from beam_agents._protos.state_pb2 import KeyState
from beam_agents.core import loop
from beam_agents.core.activation import ActivationEngine
from beam_agents.core.agent import Agent, Complete
from beam_agents.core.bundle import KeySession, run_together
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.slots import Slots
from beam_agents.core.state import encode
from beam_agents.core.testing import AgentHarness
from beam_agents.intents import KeyringError
from tests.unit.core.agents import KEY, echo


class Overlap:
    """An agent that counts how many of its runs are under way at once."""

    def __init__(self) -> None:
        self.running: list[bytes] = []
        self.most = 0
        self.met_itself = False

    async def __call__(self, ctx: ActivationContext) -> Complete:
        self.met_itself |= ctx.entity_key in self.running
        self.running.append(ctx.entity_key)
        self.most = max(self.most, len(self.running))
        for _ in range(3):
            await asyncio.sleep(0)
        self.running.remove(ctx.entity_key)
        return Complete(ctx.event)


def session(key: bytes, *events: bytes) -> KeySession[int]:
    opened: KeySession[int] = KeySession(key, None)
    for stamp, event in enumerate(events):
        opened.inbox.append((stamp, AgentEnvelope(entity_key=key, external_event=event)))
    return opened


def run(agent: Agent, sessions: list[KeySession[int]], limit: int = 100) -> None:
    loop.run(run_together(ActivationEngine(agent, AgentConfig()), sessions, Slots(limit)))


def outputs(opened: KeySession[int]) -> list[tuple[int, bytes]]:
    return [
        (stamp, each)
        for stamp, emissions in opened.emissions
        for each in emissions
        if isinstance(each, bytes)
    ]


def test_activations_of_different_keys_overlap() -> None:
    agent = Overlap()

    run(agent, [session(b"%d" % index, b"e") for index in range(50)])

    assert agent.most == 50


def test_activations_of_one_key_never_overlap() -> None:
    agent = Overlap()

    run(agent, [session(b"a", b"1", b"2", b"3"), session(b"b", b"4", b"5")])

    assert not agent.met_itself


def test_the_number_of_activations_at_once_is_limited() -> None:
    agent = Overlap()

    run(agent, [session(b"%d" % index, b"e") for index in range(50)], limit=7)

    assert agent.most == 7


def test_bundles_of_one_process_share_the_limit() -> None:
    agent, slots = Overlap(), Slots(7)
    engine = ActivationEngine(agent, AgentConfig())
    bundles = [[session(b"%d-%d" % (n, index), b"e") for index in range(20)] for n in range(3)]

    async def run_all() -> None:
        await asyncio.gather(*(run_together(engine, bundle, slots) for bundle in bundles))

    loop.run(run_all())

    assert agent.most == 7
    assert all(outputs(each) for bundle in bundles for each in bundle)


def test_a_small_bundle_need_not_wait_for_the_end_of_a_large_one() -> None:
    ended: list[bytes] = []

    async def agent(ctx: ActivationContext) -> Complete:
        await asyncio.sleep(0)
        ended.append(ctx.entity_key)
        return Complete()

    engine, slots = ActivationEngine(agent, AgentConfig()), Slots(1)
    large, small = [session(b"%d" % index, b"e") for index in range(50)], [session(b"small", b"e")]

    async def run_both() -> None:
        await asyncio.gather(run_together(engine, large, slots), run_together(engine, small, slots))

    loop.run(run_both())

    assert ended.index(b"small") <= 1


def test_emissions_carry_the_stamp_of_what_caused_them() -> None:
    opened = session(b"a", b"1", b"2")

    run(Overlap(), [opened])

    assert outputs(opened) == [(0, b"1"), (1, b"2")]


def test_a_cell_is_written_only_if_it_changed() -> None:
    unchanged: KeySession[int] = KeySession(KEY, encode(KeyState(next_seq=3)))
    never_seen: KeySession[int] = KeySession(KEY, None)
    changed = session(KEY, b"e")

    run(Overlap(), [unchanged, never_seen, changed])

    assert unchanged.changed_cell() is None
    assert never_seen.changed_cell() is None
    assert changed.changed_cell() == encode(changed.state)  # type: ignore[arg-type]


class Stuck:
    """An engine that fails for one key while another key's run waits for ever."""

    namespace = ""

    def __init__(self) -> None:
        self.cancelled = False

    async def on_envelope(self, key: bytes, state: KeyState, envelope: AgentEnvelope) -> list[int]:
        if key == b"bad":
            raise RuntimeError("a bug")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return []


def test_a_bundle_that_fails_leaves_nothing_running() -> None:
    engine = Stuck()

    with pytest.raises(RuntimeError, match="a bug"):
        loop.run(run_together(engine, [session(b"a", b"e"), session(b"bad", b"e")], Slots(10)))  # type: ignore[arg-type]
    loop.run(asyncio.sleep(0))

    assert engine.cancelled


class Waits:
    """An agent that waits for ever, and notes its end."""

    def __init__(self) -> None:
        self.ended = ""

    async def __call__(self, ctx: ActivationContext) -> Complete:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise
        return Complete()


def test_an_abandoned_run_is_cancelled_and_not_reported_as_failed() -> None:
    agent = Waits()
    config = AgentConfig(result_keys="env:BEAM_AGENTS_TEST_NO_SUCH_KEYS")
    waiting, unreadable = session(b"a", b"e"), session(b"b")
    envelope = AgentEnvelope(entity_key=b"b")
    envelope.tool_result.intent_id = "any"
    unreadable.inbox.append((0, envelope))

    with pytest.raises(KeyringError):
        loop.run(run_together(ActivationEngine(agent, config), [waiting, unreadable], Slots(10)))
    loop.run(asyncio.sleep(0))

    assert agent.ended == "cancelled"
    assert waiting.emissions == []


async def test_the_harness_works_inside_a_running_loop() -> None:
    harness = AgentHarness(echo)

    harness.event(KEY, b"e")

    assert harness.outputs == [b"e"]
