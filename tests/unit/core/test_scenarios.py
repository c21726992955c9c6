"""Each scenario on the pure engine, and byte for byte the same on Beam's local runners."""

from __future__ import annotations

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing import test_stream
from apache_beam.testing.util import assert_that, equal_to

from beam_agents._protos import AgentEnvelope
from beam_agents.core.testing import AgentHarness
from beam_agents.core.transform import AgentOutputs, RunAgent
from tests.unit.core.scenarios import SCENARIOS, Scenario


def keyed(envelope: AgentEnvelope) -> tuple[bytes, AgentEnvelope]:
    return envelope.entity_key, envelope


def assert_same(ran: AgentOutputs, expected: AgentHarness) -> None:
    """Compare all that left the pipeline with all that left the engine, as bytes."""
    left = (
        ran.output | "Outputs" >> beam.Map(lambda value: ("output", value)),
        ran.intents | "Intents" >> beam.Map(lambda m: ("intent", m.SerializeToString())),
        ran.errors | "Failures" >> beam.Map(lambda m: ("error", m.SerializeToString())),
        ran.completions | "Ends" >> beam.Map(lambda m: ("completion", m.SerializeToString())),
    ) | beam.Flatten()
    wanted = [
        *(("output", value) for value in expected.outputs),
        *(("intent", each.SerializeToString()) for each in expected.intents),
        *(("error", each.SerializeToString()) for each in expected.errors),
        *(("completion", each.SerializeToString()) for each in expected.completions),
    ]
    assert_that(left, equal_to(wanted))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_on_the_pure_engine(scenario: Scenario) -> None:
    harness = scenario.on_the_engine()

    assert sorted(harness.outputs) == list(scenario.outputs)
    assert sorted(error.reason for error in harness.errors) == list(scenario.errors)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_on_the_direct_runner_event_by_event(scenario: Scenario) -> None:
    with beam.Pipeline("BundleBasedDirectRunner", PipelineOptions([], streaming=True)) as pipeline:
        ran = (
            pipeline
            | scenario.on(test_stream.TestStream())
            | "Key" >> beam.Map(keyed)
            | "Agent" >> RunAgent(scenario.agent, scenario.config)
        )
        assert_same(ran, scenario.on_the_engine())


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if not each.waits], ids=str)
def test_in_one_bundle_replayed_three_times(scenario: Scenario) -> None:
    # The runner fires every timer as soon as its input is done, and repeats each
    # bundle on the state that it restored: what it emits comes from the last.
    options = PipelineOptions(["--direct_runner_bundle_repeat=3"])
    with beam.Pipeline("FnApiRunner", options) as pipeline:
        ran = (
            pipeline
            | beam.Create(scenario.envelopes)
            | "Key" >> beam.Map(keyed)
            | "Agent" >> RunAgent(scenario.agent, scenario.config)
        )
        assert_same(ran, scenario.on_the_engine())
