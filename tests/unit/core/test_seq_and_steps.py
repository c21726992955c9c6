"""Where an effect stands: seq, step and id, over resumes and failures."""

from __future__ import annotations

import pytest

from beam_agents.core.agent import Complete, Suspend, intent_id_for
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.testing import AgentHarness
from tests.unit.core.agents import KEY, pay


async def two_rounds(ctx: ActivationContext) -> Complete | Suspend:
    if ctx.snapshot == b"second":
        return Complete(str(ctx.seq).encode())
    ctx.act("pay", {})
    return Suspend(b"second" if ctx.is_resume else b"first", timeout_ms=30_000)


async def fails_on_poison(ctx: ActivationContext) -> Complete:
    ctx.act("pay", {})
    if ctx.event == b"poison":
        raise RuntimeError("poisoned")
    return Complete(b"")


def test_an_intent_id_is_that_of_its_position() -> None:
    harness = AgentHarness(pay)

    harness.event(KEY, b"e", at_ms=1_000)

    assert harness.intents[0].intent_id == intent_id_for(KEY, 0, 0)


def test_a_resume_keeps_its_seq_and_counts_steps_on() -> None:
    harness = AgentHarness(two_rounds)

    harness.event(KEY, b"e")
    harness.result(harness.intents[0])
    harness.result(harness.intents[1])

    assert [(each.seq, each.step_index) for each in harness.intents] == [(0, 0), (0, 1)]
    assert harness.outputs == [b"0"]


def test_the_next_fresh_activation_has_the_next_seq() -> None:
    harness = AgentHarness(two_rounds)

    harness.event(KEY, b"e")
    harness.result(harness.intents[0])
    harness.result(harness.intents[1])
    harness.event(KEY, b"f")

    assert (harness.intents[2].seq, harness.intents[2].step_index) == (1, 0)


def test_a_failed_activation_consumes_its_seq() -> None:
    harness = AgentHarness(fails_on_poison)

    harness.event(KEY, b"poison")
    harness.event(KEY, b"e")

    assert [each.seq for each in harness.errors] == [0]
    assert [each.seq for each in harness.intents] == [1]


def test_a_failed_activation_emits_nothing_of_what_it_staged() -> None:
    harness = AgentHarness(fails_on_poison)

    harness.event(KEY, b"poison")

    assert harness.intents == []
    assert harness.outputs == []


def test_seqs_are_counted_for_each_key() -> None:
    harness = AgentHarness(pay)

    harness.event(b"a", b"e")
    harness.event(b"b", b"e")

    assert [each.seq for each in harness.intents] == [0, 0]


def test_a_namespace_mints_other_ids_for_the_same_position() -> None:
    harness = AgentHarness(pay, AgentConfig(namespace="refunds"))

    harness.event(KEY, b"e")

    assert harness.intents[0].namespace == "refunds"
    assert harness.intents[0].intent_id == intent_id_for(KEY, 0, 0, namespace="refunds")


def test_the_same_envelope_gives_the_same_bytes() -> None:
    first, second = AgentHarness(pay), AgentHarness(pay)

    for harness in (first, second):
        harness.event(KEY, b"e", at_ms=1_000)

    assert first.intents[0].SerializeToString() == second.intents[0].SerializeToString()


def test_a_resume_keeps_the_trace_and_the_origin() -> None:
    harness = AgentHarness(two_rounds)

    harness.event(KEY, b"e", at_ms=1_000)
    harness.result(harness.intents[0], at_ms=2_000)

    first, second = harness.intents
    assert first.trace_id == second.trace_id
    assert first.origin_digest == second.origin_digest


async def draws(ctx: ActivationContext) -> Complete:
    return Complete(ctx.random.randbytes(8))


def test_random_draws_the_same_on_a_replay_and_differs_by_seq() -> None:
    first, second = AgentHarness(draws), AgentHarness(draws)

    for harness in (first, second):
        harness.event(KEY, b"e")
        harness.event(KEY, b"e")

    assert first.outputs == second.outputs
    assert first.outputs[0] != first.outputs[1]


async def asks_for_the_event(ctx: ActivationContext) -> Complete | Suspend:
    if ctx.is_resume:
        return Complete(ctx.event)
    ctx.act("pay", {})
    return Suspend(b"", timeout_ms=1_000)


def test_the_event_of_a_resume_is_an_error_that_names_the_snapshot() -> None:
    harness = AgentHarness(asks_for_the_event)

    harness.event(KEY, b"e")
    harness.result(harness.intents[0])

    assert "Suspend(snapshot=" in harness.errors[0].detail


@pytest.mark.parametrize("output", [None, b"", b"done"])
def test_a_completion_is_emitted_with_and_without_output(output: bytes | None) -> None:
    async def agent(ctx: ActivationContext) -> Complete:
        return Complete(output)

    harness = AgentHarness(agent, AgentConfig(namespace="n"))

    harness.event(KEY, b"e", at_ms=7)

    assert harness.outputs == ([] if output is None else [output])
    (completion,) = harness.completions
    assert (completion.entity_key, completion.seq) == (KEY, 0)
    assert (completion.event_time_ms, completion.namespace) == (7, "n")
    assert completion.output == (output or b"")
