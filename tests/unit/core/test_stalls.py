"""An agent function that blocks is found out, by name and place."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from types import SimpleNamespace
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.metrics.metric import MetricsFilter

from beam_agents.core import stalls
from beam_agents.core.agent import Complete
from beam_agents.core.context import ActivationContext
from beam_agents.core.transform import RunAgent
from tests.unit.core.agents import KEY
from tests.unit.core.envelopes import event

LET_GO = threading.Event()


async def blocks(ctx: ActivationContext) -> Complete:
    LET_GO.wait(60)
    return Complete(b"done")


@pytest.fixture
def watch_closely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalls, "PERIOD_S", 0.01)


class LetsGo(logging.Handler):
    """Ends the blocking as soon as somebody complains."""

    def emit(self, record: logging.LogRecord) -> None:
        LET_GO.set()


@pytest.mark.usefixtures("watch_closely")
def test_a_blocking_agent_is_reported_by_name_place_and_metric(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handler = LetsGo(logging.WARNING)
    logging.getLogger("beam_agents.core").addHandler(handler)
    try:
        pipeline = beam.Pipeline("FnApiRunner")
        _ = pipeline | beam.Create([(KEY, event(KEY, b"e", 1))]) | RunAgent(blocks)
        result = pipeline.run()
        result.wait_until_finish()
    finally:
        logging.getLogger("beam_agents.core").removeHandler(handler)

    record = next(each for each in caplog.records if each.name == "beam_agents.core.dofn")
    assert "agent 'blocks'" in record.getMessage()
    assert "stood still for" in record.getMessage()
    assert "LET_GO.wait(60)" in record.getMessage()
    (counter,) = result.metrics().query(MetricsFilter().with_name("loop_stalls"))["counters"]
    assert counter.committed >= 1


class FakeLoop:
    """A loop that answers a sign of life at once, or never; and the wait of its bundle."""

    def __init__(self, *, turns: bool, periods: int) -> None:
        self.turns = turns
        self.left = periods
        self.told_at: list[int] = []

    def call_soon_threadsafe(self, callback: Callable[[], None]) -> None:
        if self.turns:
            callback()

    def wait(self, futures: tuple[Future[None]], timeout: float) -> Any:
        self.left -= 1
        return wait((), 0) if self.left < 0 else SimpleNamespace(not_done=futures)

    def watched(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """The periods after which a stall was told."""
        monkeypatch.setattr(stalls, "wait", self.wait)
        periods = self.left
        thread = threading.current_thread()
        return [
            periods - self.left
            for _ in stalls.stalls_until(Future(), self, thread)  # type: ignore[arg-type]
        ]


def test_a_lasting_stall_is_told_more_and_more_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first period ends by asking; each one after it is a period without an answer.
    assert FakeLoop(turns=False, periods=20).watched(monkeypatch) == [2, 3, 5, 9, 17]


def test_a_loop_that_turns_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FakeLoop(turns=True, periods=20).watched(monkeypatch) == []
