"""Ask for an effect, wait for its answer, and go on: the whole loop in one pipeline.

An agent performs nothing itself. It stages an intent and suspends; the intent
leaves the pipeline, an effector performs it, and the answer comes back as one
more element of the same key. The intent's id follows from key, seq and step
alone, so this program can name it before the pipeline runs, and an effector
knows a repeated intent when it sees one.

In production the answer comes from the effector's results topic. Here a
`TestStream` plays both topics, so that the order is fixed.

Run it:  python docs/examples/intents_and_resume.py
"""

from __future__ import annotations

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_stream import TestStream
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import TimestampedValue

from beam_agents import ActivationContext, AgentConfig, Complete, RunAgent, Suspend
from beam_agents._protos import AgentEnvelope, ToolResult
from beam_agents.core.agent import intent_id_for

ACCOUNT = b"acct-1"


# region: agent
async def refund(ctx: ActivationContext) -> Complete | Suspend:
    """Refund a chargeback, then say what became of it."""
    if not ctx.is_resume:
        ctx.act("payments.refund", {"amount": 4200})
        # Nothing has happened yet: the intent leaves when this function returns.
        return Suspend(snapshot=ctx.event, timeout_ms=30_000)
    return Complete(output=ctx.snapshot + b" refunded: " + str(ctx.value()).encode())


# endregion: agent


# region: envelopes
def chargeback(at_ms: int) -> AgentEnvelope:
    return AgentEnvelope(
        entity_key=ACCOUNT, event_time_ms=at_ms, external_event=b"order 17", event_id="evt-1"
    )


def performed(intent_id: str, at_ms: int) -> AgentEnvelope:
    result = ToolResult(
        intent_id=intent_id, entity_key=ACCOUNT, status=ToolResult.OK, payload=b'"txn-88"'
    )
    return AgentEnvelope(entity_key=ACCOUNT, event_time_ms=at_ms, tool_result=result)


# endregion: envelopes


def stamped(envelope: AgentEnvelope) -> TimestampedValue[AgentEnvelope]:
    return TimestampedValue(envelope, envelope.event_time_ms / 1000)


def main(argv: list[str]) -> None:
    intent_id = intent_id_for(ACCOUNT, 0, 0)  # its first activation, its first effect
    topics = (
        TestStream()
        .advance_watermark_to(0)
        .add_elements([stamped(chargeback(1_000))])
        .add_elements([stamped(performed(intent_id, 1_500))])
        .advance_watermark_to_infinity()
    )
    options = PipelineOptions(argv, streaming=True)
    with beam.Pipeline("BundleBasedDirectRunner", options) as pipeline:
        ran = (
            pipeline
            | topics
            | "Key" >> beam.Map(lambda envelope: (envelope.entity_key, envelope))
            | "Refund" >> RunAgent(refund, AgentConfig())
        )
        assert_that(ran.output, equal_to([b"order 17 refunded: txn-88"]), label="output")
        ids = ran.intents | "Ids" >> beam.Map(lambda intent: intent.intent_id)
        assert_that(ids, equal_to([intent_id]), label="intents")
        assert_that(ran.errors, equal_to([]), label="errors")
    print("intents_and_resume: ok")


if __name__ == "__main__":
    main(sys.argv[1:])
