"""The pipeline process of this example: Beam, running live on one machine until it is stopped.

python pipeline.py --bus bus.sqlite --state pipeline.sqlite
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from agent import on_chargeback
from beam_agents import AgentConfig
from beam_agents.io import AgentLoop, LocalLoopRunner, ReadEvents, WriteCompletions, WriteErrors


def _field(name: str) -> Any:
    return lambda record: json.loads(record.value)[name]


def build(pipeline: beam.Pipeline, bus: str) -> None:
    """Events and results come in, intents and outputs go out, all over one bus."""
    chargebacks = pipeline | "Chargebacks" >> ReadEvents(
        f"{bus}?topic=chargebacks",
        key=lambda record: record.key,
        event_id=_field("event_id"),
        event_time_ms=_field("at_ms"),
    )
    refunds = chargebacks.envelopes | "Refunds" >> AgentLoop(
        on_chargeback,
        AgentConfig(namespace="chargebacks"),
        results_from=f"{bus}?topic=results",
        intents_to=f"{bus}?topic=intents",
        errors_to=f"{bus}?topic=errors",
    )
    chargebacks.errors | "Undecodable" >> WriteErrors(f"{bus}?topic=errors")
    refunds.completions | "Completions" >> WriteCompletions(f"{bus}?topic=completions")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bus", type=Path, required=True, help="the embedded bus, a file")
    parser.add_argument("--state", type=Path, required=True, help="where key states survive")
    args, beam_args = parser.parse_known_args()

    pipeline = beam.Pipeline(
        runner=LocalLoopRunner(state=args.state), options=PipelineOptions(beam_args)
    )
    build(pipeline, f"sqlite:///{args.bus.resolve()}")
    pipeline.run().wait_until_finish()


if __name__ == "__main__":
    main()
