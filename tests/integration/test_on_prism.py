"""Each scenario of the engine on Prism, byte for byte as on the engine itself."""

from __future__ import annotations

from typing import Any

import apache_beam as beam
import pytest
from apache_beam.coders import ProtoCoder
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_stream import TestStream

from beam_agents._protos import AgentEnvelope
from beam_agents.core.transform import RunAgent
from tests.unit.core.scenarios import SCENARIOS, Scenario
from tests.unit.core.test_scenarios import assert_same, keyed


class Unhurried(TestStream):
    """Lets processing time pass after each element.

    Prism on a busy machine began a key's next bundle before it had kept the state of the
    last one; an event more between the two gives it time.
    """

    def add_elements(self, *args: Any, **kwargs: Any) -> TestStream:
        super().add_elements(*args, **kwargs)  # type: ignore[no-untyped-call]
        self.advance_processing_time(1)  # type: ignore[no-untyped-call]
        return self


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
    stream = Unhurried(coder=ProtoCoder(AgentEnvelope))  # type: ignore[no-untyped-call]

    with beam.Pipeline(options=options) as pipeline:
        ran = (
            pipeline
            | scenario.on(stream)
            | "Key" >> beam.Map(keyed).with_output_types(tuple[bytes, AgentEnvelope])
            | "Agent" >> RunAgent(scenario.agent, scenario.config)
        )
        assert_same(ran, scenario.on_the_engine())
