"""A bundle that fails anywhere is run again, and nothing that leaves tells of it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing import test_stream

from beam_agents.core.dofn import RunAgentDoFn
from beam_agents.core.gathering import GatherEnvelopes
from beam_agents.core.transform import RunAgent
from tests.unit.core.agents import pay
from tests.unit.core.envelopes import answer, event, intents_of
from tests.unit.core.scenarios import Scenario
from tests.unit.core.test_scenarios import assert_same, keyed

METHODS = {
    GatherEnvelopes: ("start_bundle", "process", "finish_bundle"),
    RunAgentDoFn: ("setup", "start_bundle", "process", "on_due", "finish_bundle"),
}
CASES = [(dofn, method) for dofn, methods in METHODS.items() for method in methods]
LAST = "teardown"  # called when nothing is left to repeat
FAILURES = 2  # the runner gives up after four attempts

_BEGIN = event(b"a", b"e", 1_000)
_OTHER = event(b"b", b"f", 2_000)
SCENARIO = Scenario(
    "one_key_is_answered_and_another_times_out",
    pay,
    [_BEGIN, _OTHER, answer(intents_of(pay, _BEGIN)[0], b"1", 3_000)],
    until_ms=40_000,
)


def failing(method: Callable[..., Any], failures: list[str]) -> Callable[..., Any]:
    """Make a DoFn's method fail at first, after it has done all its work."""

    @functools.wraps(method)
    def attempt(*args: Any, **kwargs: Any) -> Any:
        returned = method(*args, **kwargs)
        emitted = list(returned) if returned is not None else None
        if len(failures) < FAILURES:
            failures.append(method.__name__)
            raise ConnectionError("the worker is gone")
        return emitted

    return attempt


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0].__name__}.{case[1]}")
def failures(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[str]]:
    failures: list[str] = []
    dofn, name = request.param
    method = failing(getattr(dofn, name), failures)
    monkeypatch.setattr(dofn, name, method)
    if name == "on_due":
        monkeypatch.setattr(RunAgentDoFn.TIMER, "_attached_callback", method)
    yield failures
    assert failures == [name] * FAILURES


@pytest.mark.parametrize("dofn", METHODS)
def test_every_method_that_a_runner_calls_is_made_to_fail(dofn: type[beam.DoFn]) -> None:
    own = {name for name, value in vars(dofn).items() if inspect.isfunction(value)}

    assert {name for name in own if not name.startswith("_")} - {LAST} == set(METHODS[dofn])


@pytest.mark.usefixtures("failures")
def test_a_failed_bundle_is_repeated_byte_for_byte() -> None:
    stream = SCENARIO.on(test_stream.TestStream())

    with beam.Pipeline("BundleBasedDirectRunner", PipelineOptions([], streaming=True)) as pipeline:
        ran = pipeline | stream | "Key" >> beam.Map(keyed) | "Agent" >> RunAgent(pay)
        assert_same(ran, SCENARIO.on_the_engine())
