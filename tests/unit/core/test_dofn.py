"""What copies of the DoFn share in a process, and what becomes of one that is torn down."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest
from apache_beam.internal import pickler
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from beam_agents._protos import AgentEnvelope
from beam_agents.core.agent import Agent, Complete
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.dofn import RunAgentDoFn
from tests.unit.core.agents import KEY


class Cell:
    """A state cell and a timer of a runner that keeps neither."""

    def read(self) -> None:
        """Nothing is kept."""

    def write(self, cell: bytes) -> None:
        self.cell = cell

    def set(self, timestamp: object) -> None:
        self.timestamp = timestamp


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
    pickled = pickler.dumps(RunAgentDoFn(agent, config or AgentConfig(), token="step"))
    for _ in range(number):
        dofn = pickler.loads(pickled)
        dofn.setup()
        yield dofn


def run_bundle(dofn: RunAgentDoFn, *keys: bytes) -> None:
    dofn.start_bundle()
    for key in keys:
        envelope = AgentEnvelope(entity_key=key, external_event=b"e")
        cause = WindowedValue(None, 0, (GlobalWindow(),))
        dofn.process((key, envelope), cause, Cell(), Cell())
    assert list(dofn.finish_bundle())


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
