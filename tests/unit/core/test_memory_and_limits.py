"""What is kept for a key: memory, snapshots, limits, and what idleness leaves."""

from __future__ import annotations

import pytest

from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.metrics import Metric
from beam_agents.core.testing import AgentHarness
from tests.unit.core.agents import KEY, echo, pay


async def remembers(ctx: ActivationContext) -> Complete | Suspend:
    """Memory grows by each event; `?` looks, `!` fails, `.` suspends."""
    if ctx.is_resume or ctx.event == b"?":
        return Complete(ctx.memory)
    grown = ctx.memory + ctx.event
    if ctx.event == b".":
        ctx.act("pay", {})
        return Suspend(b"", timeout_ms=30_000, memory=grown)
    if ctx.event == b"!":
        return Complete("not bytes", memory=grown)  # type: ignore[arg-type]
    return Complete(memory=grown)


def remembered(*events: bytes) -> AgentHarness:
    harness = AgentHarness(remembers)
    for event in events:
        harness.event(KEY, event)
    return harness


def test_memory_is_empty_at_first() -> None:
    assert remembered(b"?").outputs == [b""]


def test_memory_goes_on_over_activations() -> None:
    assert remembered(b"a", b"b", b"?").outputs == [b"ab"]


def test_memory_is_the_keys_own() -> None:
    harness = remembered(b"a")

    harness.event(b"other", b"?")

    assert harness.outputs == [b""]


def test_a_failed_run_does_not_change_memory() -> None:
    assert remembered(b"a", b"!", b"?").outputs == [b"a"]


def test_a_suspension_commits_memory() -> None:
    harness = remembered(b"a", b".")

    harness.result(harness.intents[0])

    assert harness.outputs == [b"a."]


async def versioned(ctx: ActivationContext) -> Complete | Suspend:
    if ctx.is_resume:
        return Complete(f"{ctx.adapter} {ctx.snapshot_version} {ctx.snapshot.decode()}".encode())
    ctx.act("pay", {})
    return Suspend(b"state", "chat", timeout_ms=30_000, version=3)


def test_a_snapshot_comes_back_with_its_adapter_and_version() -> None:
    harness = AgentHarness(versioned)
    harness.event(KEY, b"e")

    harness.result(harness.intents[0])

    assert harness.outputs == [b"chat 3 state"]


def test_a_snapshot_over_its_limit_fails_its_activation() -> None:
    async def agent(ctx: ActivationContext) -> Suspend:
        ctx.act("pay", {})
        return Suspend(ctx.event, timeout_ms=1_000)

    harness = AgentHarness(agent, AgentConfig(max_snapshot_bytes=10))

    harness.event(KEY, b"x" * 11)
    harness.event(KEY, b"x" * 10)

    (error,) = harness.errors
    assert error.reason == "state_too_large"
    assert "max_snapshot_bytes" in error.detail
    assert len(harness.intents) == 1


def test_memory_over_the_state_limit_fails_its_activation() -> None:
    async def agent(ctx: ActivationContext) -> Complete:
        return Complete(memory=ctx.event)

    harness = AgentHarness(agent, AgentConfig(max_state_bytes=100))

    harness.event(KEY, b"x" * 50)
    harness.event(KEY, b"x" * 101)

    assert [error.reason for error in harness.errors] == ["state_too_large"]
    assert harness.state(KEY).memory == b"x" * 50


def test_an_event_that_would_overfill_the_state_is_refused_not_queued() -> None:
    harness = AgentHarness(pay, AgentConfig(max_state_bytes=300))
    harness.event(KEY, b"e")

    harness.event(KEY, b"x" * 300)

    (error,) = harness.errors
    assert (error.reason, len(error.envelope.external_event)) == ("state_too_large", 300)


def test_an_answer_that_would_overfill_the_state_is_refused() -> None:
    harness = AgentHarness(pay, AgentConfig(max_state_bytes=300))
    harness.event(KEY, b"e")

    harness.result(harness.intents[0], b"x" * 300)

    assert [error.reason for error in harness.errors] == ["state_too_large"]
    assert harness.state(KEY).HasField("continuation")


def test_one_awaited_intent_costs_at_most_160_bytes_of_state() -> None:
    harness = AgentHarness(pay)

    harness.event(KEY, b"e", at_ms=1_700_000_000_000)

    assert len(harness.cell(KEY)) - len(harness.state(KEY).continuation.snapshot) <= 160


def test_an_idle_key_keeps_nothing_but_its_seq() -> None:
    harness = AgentHarness(remembers, AgentConfig(ttl_ms=1_000))
    harness.event(KEY, b"a", at_ms=5_000, event_id="evt")

    harness.advance_to(5_999)
    assert harness.state(KEY).memory == b"a"
    harness.advance_to(6_000)

    state = harness.state(KEY)
    assert [descriptor.name for descriptor, _ in state.ListFields()] == ["next_seq"]
    assert harness.metrics[Metric.TOMBSTONES] == 1


def test_seqs_go_on_after_a_key_was_idle() -> None:
    harness = AgentHarness(pay, AgentConfig(ttl_ms=1_000))
    harness.event(KEY, b"e", at_ms=5_000)
    harness.result(harness.intents[0])
    harness.advance_to(100_000)

    harness.event(KEY, b"f", at_ms=200_000)

    assert harness.intents[1].seq == 1


def test_activity_puts_off_the_end_of_what_is_kept() -> None:
    harness = AgentHarness(remembers, AgentConfig(ttl_ms=1_000))
    harness.event(KEY, b"a", at_ms=5_000)
    harness.event(KEY, b"b", at_ms=5_900)

    harness.advance_to(6_500)

    assert harness.state(KEY).memory == b"ab"


def test_a_suspended_key_is_not_idle() -> None:
    harness = AgentHarness(pay, AgentConfig(ttl_ms=1_000))
    harness.event(KEY, b"e", at_ms=5_000)

    harness.advance_to(7_000)

    assert harness.state(KEY).HasField("continuation")


def test_a_key_that_keeps_only_its_seq_needs_no_timer() -> None:
    harness = AgentHarness(echo)

    harness.event(KEY, b"e", at_ms=5_000)
    harness.advance_to(10**12)

    assert harness.metrics[Metric.TOMBSTONES] == 0


@pytest.mark.parametrize(
    ("cell", "reason"), [(b"\x02newer", "state_version"), (b"\x01\xff\xff", "undecodable")]
)
def test_a_state_that_cannot_be_read_is_reported_and_left_as_it_is(
    cell: bytes, reason: str
) -> None:
    harness = AgentHarness(echo)
    harness.set_cell(KEY, cell)

    harness.event(KEY, b"e", at_ms=7)
    harness.advance_to(10**9)

    (error,) = harness.errors
    assert (error.reason, error.event_time_ms) == (reason, 7)
    assert error.envelope.external_event == b"e"
    assert harness.cell(KEY) == cell
