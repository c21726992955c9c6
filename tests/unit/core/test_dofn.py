"""How the DoFn treats state, timers and threads, and what its copies share in a process."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest
from apache_beam.internal import pickler
from apache_beam.utils.timestamp import Timestamp

from beam_agents._protos import AgentEnvelope
from beam_agents._protos.state_pb2 import EnvelopeBatch
from beam_agents.core.agent import Agent, Complete
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.dofn import RunAgentDoFn
from tests.unit.core.agents import KEY, pay
from tests.unit.core.envelopes import answer, event, intents_of


class Kept:
    """A state cell and a timer of one key, as a runner hands them out."""

    def __init__(self) -> None:
        self.cell: bytes | None = None
        self.calls: list[str] = []
        self.set_to: list[float] = []
        self.threads: set[int] = set()

    def read(self) -> bytes | None:
        self._note("read")
        return self.cell

    def write(self, cell: bytes) -> None:
        self._note("write")
        self.cell = cell

    def set(self, timestamp: Timestamp) -> None:
        self._note("set")
        self.set_to.append(float(timestamp))

    def _note(self, call: str) -> None:
        self.calls.append(call)
        self.threads.add(threading.get_ident())


class Gauge:
    """How many runs are under way; global, since each copy of a DoFn has a copy of its agent."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0


GAUGE = Gauge()
BEGAN, CANCELLED = threading.Event(), threading.Event()


async def gauged(ctx: ActivationContext) -> Complete:
    GAUGE.running += 1
    GAUGE.most = max(GAUGE.most, GAUGE.running)
    for _ in range(20):
        await asyncio.sleep(0)
    GAUGE.running -= 1
    return Complete()


async def waits_for_ever(ctx: ActivationContext) -> Complete:
    BEGAN.set()
    try:
        await asyncio.Event().wait()
    finally:
        CANCELLED.set()
    return Complete()


def copies(agent: Agent, number: int, config: AgentConfig | None = None) -> Iterator[RunAgentDoFn]:
    """What a worker has of one step: a copy for each bundle that is under way."""
    pickled = pickler.dumps(RunAgentDoFn(agent, config or AgentConfig(), token=uuid.uuid4().hex))
    for _ in range(number):
        dofn = pickler.loads(pickled)
        dofn.setup()
        yield dofn


def run_bundle(dofn: RunAgentDoFn, *keys: bytes) -> None:
    dofn.start_bundle()
    for key in keys:
        process(dofn, Kept(), AgentEnvelope(entity_key=key, external_event=b"e"))
    assert list(dofn.finish_bundle())


def process(dofn: RunAgentDoFn, kept: Kept, envelope: AgentEnvelope) -> None:
    stamped = EnvelopeBatch(envelopes=[envelope], timestamps_us=[envelope.event_time_ms * 1000])
    dofn.process((envelope.entity_key, stamped), kept, kept)


def test_a_key_is_read_once_and_written_once_a_bundle_on_the_bundles_thread() -> None:
    (dofn,) = copies(pay, 1)
    kept = Kept()

    dofn.start_bundle()
    for at_ms in (1_000, 2_000, 3_000):
        process(dofn, kept, event(KEY, b"e", at_ms))
    list(dofn.finish_bundle())

    assert kept.calls == ["read", "set", "write"]
    assert kept.threads == {threading.get_ident()}


def test_a_timer_is_set_again_only_to_fire_earlier() -> None:
    (dofn,) = copies(pay, 1)
    kept = Kept()
    (intent,) = intents_of(pay, event(KEY, b"e", 1_000))

    # Suspended until 31,000; answered and suspended again until 35,000; idle for long.
    for envelope in (event(KEY, b"e", 1_000), answer(intent, b"1", 4_000), event(KEY, b"f", 5_000)):
        dofn.start_bundle()
        process(dofn, kept, envelope)
        list(dofn.finish_bundle())
    assert kept.set_to == [31.0]

    dofn.start_bundle()
    dofn.on_due(KEY, Timestamp(31), kept, kept)
    assert list(dofn.finish_bundle()) == []
    assert kept.set_to == [31.0, 35.0]


def test_the_bundles_of_a_process_share_the_limit_of_activations() -> None:
    dofns = copies(gauged, 4, AgentConfig(max_concurrent_activations=3))
    keys = [b"%d" % index for index in range(25)]

    with ThreadPoolExecutor(4) as threads:
        for bundle in [threads.submit(run_bundle, dofn, *keys) for dofn in dofns]:
            bundle.result()

    assert GAUGE.most == 3


def test_teardown_cancels_the_activations_that_run() -> None:
    (dofn,) = copies(waits_for_ever, 1)

    with ThreadPoolExecutor(1) as thread:
        bundle = thread.submit(run_bundle, dofn, KEY)
        assert BEGAN.wait(60)
        dofn.teardown()
        with pytest.raises(CancelledError):
            bundle.result()

    assert CANCELLED.wait(60)


def test_teardown_cancels_also_what_had_only_begun_to_run() -> None:
    (dofn,) = copies(waits_for_ever, 1)
    dofn.teardown()

    with pytest.raises(CancelledError):
        run_bundle(dofn, KEY)


def test_teardown_after_a_bundle_finds_nothing_to_cancel() -> None:
    (dofn,) = copies(gauged, 1)

    run_bundle(dofn, KEY)
    dofn.teardown()
