"""A pipeline on Kafka that a test runs, kills and runs again: `python -m` it with its runner.

Own JSON events, an agent that charges, and every topic that a pipeline has.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from beam_agents import ActivationContext, AgentConfig, Complete, Suspend
from beam_agents.io import (
    AgentLoop,
    InboundRecord,
    LocalLoopRunner,
    ReadEvents,
    WriteCompletions,
    WriteErrors,
)

LONG_MS = 600_000
SHORT_MS = 1_000
IDLE_AFTER_MS = 200


async def charging(ctx: ActivationContext) -> Complete | Suspend:
    """Charge what the event says; one in a hurry does not wait long, and waits in vain."""
    if ctx.is_resume:
        value: Any = ctx.value()
        return Complete(json.dumps({"id": ctx.snapshot.decode(), **value}).encode())
    event = json.loads(ctx.event)
    hurry = event["hurry"]
    ctx.act("payments.charge", {"amount": event["cents"], "held": hurry})
    return Suspend(event["id"].encode(), timeout_ms=SHORT_MS if hurry else LONG_MS)


def account(record: InboundRecord) -> bytes:
    return str(json.loads(record.value or b"")["account"]).encode()


def event_id(record: InboundRecord) -> str:
    return str(json.loads(record.value or b"")["id"])


def build(pipeline: beam.Pipeline, hosts: str, run: str) -> None:
    def topic(name: str) -> str:
        return f"kafka://{hosts}/{run}-{name}"

    reading = f"?group={run}&idle_after_ms={IDLE_AFTER_MS}"
    events = pipeline | "Events" >> ReadEvents(
        topic("events") + reading, key=account, event_id=event_id
    )
    charged = events.envelopes | "Charging" >> AgentLoop(
        charging,
        AgentConfig(namespace=run),
        results_from=topic("results") + reading,
        intents_to=topic("intents"),
        errors_to=topic("errors"),
    )
    _ = events.errors | "EventErrors" >> WriteErrors(topic("errors"))
    _ = charged.completions | "Completions" >> WriteCompletions(topic("completions"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--state", help="run on the live loop, on this file")
    ours, theirs = parser.parse_known_args()
    options = PipelineOptions(theirs)
    runner = LocalLoopRunner(state=ours.state) if ours.state else None
    pipeline = beam.Pipeline(runner=runner, options=options)
    build(pipeline, ours.hosts, ours.run)
    pipeline.run().wait_until_finish()


if __name__ == "__main__":
    main()
