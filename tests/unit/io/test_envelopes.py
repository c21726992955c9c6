from __future__ import annotations

import logging
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that, equal_to

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents.io.envelopes import (
    DecisionsToEnvelopes,
    EventsToEnvelopes,
    ResultsToEnvelopes,
    ToEnvelopes,
)
from beam_agents.io.records import InboundRecord

RESULT = ToolResult(entity_key=b"k", intent_id="i", completed_at_ms=1_500)


def record(value: bytes, declared: str) -> InboundRecord:
    return InboundRecord(b"k", value, (("beam-agents-type", declared.encode()),), topic="t")


def with_time(element: Any, timestamp: Any = beam.DoFn.TimestampParam) -> tuple[bytes, int]:
    return element[0], timestamp.micros // 1000


def pipeline() -> beam.Pipeline:
    return beam.Pipeline(runner="BundleBasedDirectRunner", options=PipelineOptions([]))


def test_envelopes_come_at_their_event_time() -> None:
    with pipeline() as p:
        read = p | beam.Create([RESULT.SerializeToString()]) | ResultsToEnvelopes()
        assert_that(read.envelopes | beam.Map(with_time), equal_to([(b"k", 1_500)]))


@pytest.mark.parametrize("event_time_ms", [-(2**63), 2**63 - 1])
def test_an_absurd_event_time_does_not_stop_the_pipeline(event_time_ms: int) -> None:
    with pipeline() as p:
        read = (
            p
            | beam.Create([b"event"])
            | EventsToEnvelopes(key=lambda e: b"k", event_time_ms=lambda e: event_time_ms)
        )
        times = read.envelopes | beam.Map(lambda keyed: keyed[1].event_time_ms)
        assert_that(times, equal_to([event_time_ms]))


def test_what_cannot_be_read_goes_to_errors_and_the_rest_goes_on() -> None:
    records = [record(b"\xff", "ToolResult"), record(RESULT.SerializeToString(), "ToolResult")]
    with pipeline() as p:
        read = p | beam.Create(records) | ResultsToEnvelopes()
        assert_that(
            read.envelopes | beam.Map(lambda keyed: keyed[1].tool_result.intent_id),
            equal_to(["i"]),
            label="envelopes",
        )
        assert_that(
            read.errors | beam.Map(lambda error: (error.reason, error.entity_key)),
            equal_to([("undecodable", b"k")]),
            label="errors",
        )


def test_skipped_requests_are_counted() -> None:
    approval = AgentEnvelope(approval=AgentEnvelope.Approval(intent_id="i"))
    records = [
        record(ToolIntent(intent_id="i").SerializeToString(), "ToolIntent"),
        record(approval.SerializeToString(), "AgentEnvelope"),
    ]
    p = beam.Pipeline(runner="FnApiRunner", options=PipelineOptions([]))
    read = p | beam.Create(records) | DecisionsToEnvelopes()
    assert_that(read.errors, equal_to([]), label="errors")
    assert_that(
        read.envelopes | beam.Map(lambda keyed: keyed[1].approval.intent_id),
        equal_to(["i"]),
        label="envelopes",
    )
    result = p.run()
    result.wait_until_finish()
    counters = result.metrics().query()["counters"]
    assert [(c.key.metric.name, c.result) for c in counters] == [("skipped_intents", 1)]


@pytest.mark.parametrize(
    "to_envelopes",
    [EventsToEnvelopes(key=lambda e: b"k"), ResultsToEnvelopes(), DecisionsToEnvelopes()],
)
def test_keys_have_a_deterministic_coder(
    to_envelopes: ToEnvelopes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), pipeline() as p:
        read = p | beam.Create([b""]) | to_envelopes
        _ = read.envelopes | beam.GroupByKey()
    assert read.envelopes.element_type == beam.typehints.Tuple[bytes, AgentEnvelope]
    assert "deterministic" not in caplog.text
