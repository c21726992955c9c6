"""Each scenario of the engine on Prism, byte for byte as on the engine itself."""

from __future__ import annotations

import apache_beam as beam
import pytest
from apache_beam.coders import ProtoCoder
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import TimestampedValue

from beam_agents._protos import AgentEnvelope
from beam_agents.core.transform import RunAgent
from tests.unit.core.scenarios import SCENARIOS, Scenario
from tests.unit.core.test_scenarios import assert_same, keyed


@pytest.fixture
def options(prism_endpoint: str) -> PipelineOptions:
    return PipelineOptions(
        [
            "--runner=PortableRunner",
            f"--job_endpoint={prism_endpoint}",
            "--environment_type=LOOPBACK",
            "--streaming",
        ]
    )


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_on_prism(scenario: Scenario, options: PipelineOptions) -> None:
    stream = TestStream(coder=ProtoCoder(AgentEnvelope)).advance_watermark_to(0)
    for envelope in scenario.envelopes:
        at = envelope.event_time_ms / 1000
        stream = stream.add_elements([TimestampedValue(envelope, at)])
    if scenario.until_ms is not None:
        for until_ms in range(10_000, scenario.until_ms + 1, 10_000):
            stream = stream.advance_watermark_to(until_ms / 1000)

    with beam.Pipeline(options=options) as pipeline:
        ran = (
            pipeline
            | stream.advance_watermark_to_infinity()
            | "Key" >> beam.Map(keyed).with_output_types(tuple[bytes, AgentEnvelope])
            | "Agent" >> RunAgent(scenario.agent, scenario.config)
        )
        assert_same(ran, scenario.on_the_engine())
