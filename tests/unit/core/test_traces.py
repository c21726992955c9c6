"""Traces: one record a run, without payloads unless they are asked for."""

from __future__ import annotations

from hashlib import sha256

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to

from beam_agents._protos import ActivationTrace
from beam_agents.core.agent import Complete
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.testing import AgentHarness
from beam_agents.core.transform import RunAgent
from beam_agents.model.fake import FakeLLM, match_any, respond_with
from tests.unit.core.agents import KEY, echo, pay
from tests.unit.core.envelopes import event
from tests.unit.core.scenario_agents import fails_on_poison

TRACED = AgentConfig(traces=True)


async def asks_twice(ctx: ActivationContext) -> Complete:
    return Complete(await ctx.call_model(b"1") + await ctx.call_model(b"2"))


def provider() -> FakeLLM:
    return FakeLLM([(match_any(), respond_with("ok"))])


def test_no_trace_is_emitted_unless_it_is_asked_for() -> None:
    harness = AgentHarness(pay)

    harness.event(KEY, b"e")

    assert harness.traces == []


def test_each_run_of_an_activation_has_its_trace() -> None:
    harness = AgentHarness(pay, TRACED)

    harness.event(KEY, b"e", at_ms=1_000)
    harness.result(harness.intents[0], at_ms=2_000)

    first, second = harness.traces
    assert (first.seq, first.is_resume, first.outcome) == (0, False, ActivationTrace.SUSPENDED)
    assert (second.seq, second.is_resume, second.outcome) == (0, True, ActivationTrace.COMPLETED)
    assert (first.now_ms, second.now_ms) == (1_000, 2_000)
    assert (first.first_step, first.next_step) == (0, 1)
    assert (second.first_step, second.next_step) == (1, 1)


def test_a_trace_has_the_trace_id_of_its_intents() -> None:
    harness = AgentHarness(pay, TRACED)

    harness.event(KEY, b"e")
    harness.result(harness.intents[0])

    assert {trace.trace_id for trace in harness.traces} == {harness.intents[0].trace_id}


def test_a_failed_run_is_traced_with_its_reason_and_no_steps() -> None:
    harness = AgentHarness(fails_on_poison, TRACED)

    harness.event(KEY, b"poison")

    (trace,) = harness.traces
    assert (trace.outcome, trace.reason) == (ActivationTrace.FAILED, "agent_failed")
    assert (trace.first_step, trace.next_step) == (0, 0)


def test_a_trace_counts_model_calls() -> None:
    harness = AgentHarness(asks_twice, AgentConfig(traces=True, provider_factory=provider))

    harness.event(KEY, b"e")

    assert harness.traces[0].model_calls == 2


def test_a_trace_names_the_key_by_its_digest_and_holds_no_payload() -> None:
    harness = AgentHarness(pay, TRACED)

    harness.event(KEY, b"a secret")
    harness.result(harness.intents[0], b'"another"')

    assert harness.traces[0].key_digest == sha256(KEY).digest()[:8]
    written = b"".join(trace.SerializeToString() for trace in harness.traces)
    assert not [part for part in (KEY, b"secret", b"another") if part in written]


def test_payloads_are_in_the_trace_where_asked_for() -> None:
    harness = AgentHarness(pay, AgentConfig(traces=True, trace_payloads=True))

    harness.event(KEY, b"e")
    harness.result(harness.intents[0], b"1")

    first, second = harness.traces
    assert (first.event, first.next_snapshot) == (b"e", b"e")
    assert list(first.intents) == harness.intents
    assert (second.snapshot, second.output) == (b"e", b"e: OK 1")


@pytest.mark.parametrize("config", [TRACED, AgentConfig(traces=True, trace_payloads=True)])
def test_tracing_changes_nothing_else(config: AgentConfig) -> None:
    plain, traced = AgentHarness(pay), AgentHarness(pay, config)

    for harness in (plain, traced):
        harness.event(KEY, b"e", at_ms=1_000)
        harness.result(harness.intents[0], b"1", at_ms=2_000)

    assert traced.intents == plain.intents
    assert traced.outputs == plain.outputs
    assert traced.cell(KEY) == plain.cell(KEY)


def test_traces_leave_a_pipeline_by_their_own_output() -> None:
    with beam.Pipeline("FnApiRunner") as pipeline:
        ran = (
            pipeline
            | beam.Create([(KEY, event(KEY, b"e", 1)), (b"other", event(b"other", b"e", 1))])
            | RunAgent(echo, TRACED)
        )
        outcomes = ran.traces | beam.Map(lambda trace: trace.outcome)
        assert_that(outcomes, equal_to([ActivationTrace.COMPLETED] * 2))
