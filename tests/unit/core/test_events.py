"""New events: repeated, too old, or while the key is suspended; and the clock they bring."""

from __future__ import annotations

from beam_agents._protos import AgentEnvelope
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.metrics import Metric
from beam_agents.core.testing import AgentHarness
from tests.unit.core.agents import KEY, TIMEOUT_MS, echo, pay


def test_a_repeated_event_id_is_dropped() -> None:
    harness = AgentHarness(echo)

    harness.event(KEY, b"1", event_id="evt")
    harness.event(KEY, b"2", event_id="evt")

    assert harness.outputs == [b"1"]
    assert harness.metrics[Metric.DUPLICATE_EVENTS] == 1


def test_events_without_an_id_are_never_repeats() -> None:
    harness = AgentHarness(echo)

    harness.event(KEY, b"1")
    harness.event(KEY, b"1")

    assert harness.outputs == [b"1", b"1"]


def test_an_event_id_is_remembered_for_its_key_alone() -> None:
    harness = AgentHarness(echo)

    harness.event(b"a", b"1", event_id="evt")
    harness.event(b"b", b"2", event_id="evt")

    assert harness.outputs == [b"1", b"2"]


def test_only_the_last_event_ids_are_remembered() -> None:
    harness = AgentHarness(echo, AgentConfig(remembered_event_ids=2))

    for event_id in ("a", "b", "c", "a"):
        harness.event(KEY, event_id.encode(), event_id=event_id)

    assert harness.outputs == [b"a", b"b", b"c", b"a"]


def test_a_queued_event_is_remembered_when_it_is_accepted() -> None:
    harness = AgentHarness(pay)
    harness.event(KEY, b"e")

    harness.event(KEY, b"f", event_id="evt")
    harness.event(KEY, b"f", event_id="evt")

    assert len(harness.state(KEY).queue) == 1


def test_a_failed_activation_forgets_its_event_id_for_a_redrive() -> None:
    failures = [True, False]

    async def flaky(ctx: ActivationContext) -> Complete:
        if failures.pop(0):
            raise RuntimeError("down")
        return Complete(ctx.event)

    harness = AgentHarness(flaky)

    harness.event(KEY, b"e", event_id="evt")
    harness.event(KEY, b"e", event_id="evt")

    assert harness.outputs == [b"e"]


def test_an_event_older_than_allowed_is_stale() -> None:
    harness = AgentHarness(echo, AgentConfig(max_event_age_ms=1_000))

    for received_at_ms in (2_000, 2_001):
        harness.send(
            AgentEnvelope(
                entity_key=KEY,
                external_event=b"e",
                event_time_ms=1_000,
                received_at_ms=received_at_ms,
            )
        )

    assert harness.outputs == [b"e"]
    assert [error.reason for error in harness.errors] == ["stale"]


def test_events_while_suspended_run_afterwards_in_order() -> None:
    harness = AgentHarness(pay)
    harness.event(KEY, b"e")

    harness.event(KEY, b"f")
    harness.event(KEY, b"g")
    assert len(harness.intents) == 1
    for index in range(3):
        harness.result(harness.intents[index], str(index).encode())

    assert harness.outputs == [b"e: OK 0", b"f: OK 1", b"g: OK 2"]


async def completes_with_the_time(ctx: ActivationContext) -> Complete | Suspend:
    if ctx.is_resume:
        return Complete(b"resumed")
    if ctx.seq == 0:
        ctx.act("pay", {})
        return Suspend(b"", timeout_ms=TIMEOUT_MS)
    return Complete(f"event {ctx.event_time_ms} now {ctx.now_ms}".encode())


def test_a_queued_events_now_is_the_time_of_what_released_it() -> None:
    harness = AgentHarness(completes_with_the_time)
    harness.event(KEY, b"e", at_ms=1_000)

    harness.event(KEY, b"f", at_ms=2_000)
    harness.result(harness.intents[0], at_ms=9_000)

    assert harness.outputs[1] == b"event 2000 now 9000"


def test_a_queued_events_now_is_its_own_time_if_that_is_later() -> None:
    harness = AgentHarness(completes_with_the_time)
    harness.event(KEY, b"e", at_ms=1_000)

    harness.event(KEY, b"f", at_ms=9_500)
    harness.result(harness.intents[0], at_ms=9_000)

    assert harness.outputs[1] == b"event 9500 now 9500"


def test_queued_events_run_after_a_timeout_too() -> None:
    harness = AgentHarness(completes_with_the_time)
    harness.event(KEY, b"e", at_ms=1_000)

    harness.event(KEY, b"f", at_ms=2_000)
    harness.advance_to(1_000 + TIMEOUT_MS)

    assert harness.outputs == [b"event 2000 now 31000"]


def test_a_full_queue_refuses_the_newest() -> None:
    harness = AgentHarness(pay, AgentConfig(max_queued_events=1))
    harness.event(KEY, b"e")

    harness.event(KEY, b"f", event_id="f")
    harness.event(KEY, b"g", event_id="g")

    (error,) = harness.errors
    assert (error.reason, error.envelope.external_event) == ("queue_full", b"g")


def test_an_event_that_found_the_queue_full_may_come_again() -> None:
    harness = AgentHarness(pay, AgentConfig(max_queued_events=1))
    harness.event(KEY, b"e")
    harness.event(KEY, b"f", event_id="f")
    harness.event(KEY, b"g", event_id="g")
    harness.result(harness.intents[0])

    harness.event(KEY, b"g", event_id="g")

    assert [each.external_event for each in harness.state(KEY).queue] == [b"g"]


def test_a_suspended_key_may_be_set_to_reject_events() -> None:
    harness = AgentHarness(pay, AgentConfig(while_suspended="reject"))
    harness.event(KEY, b"e")

    harness.event(KEY, b"f")

    assert [error.reason for error in harness.errors] == ["suspended"]
    assert not harness.state(KEY).queue


def test_intents_of_a_backlog_are_not_born_expired() -> None:
    harness = AgentHarness(pay)

    harness.send(
        AgentEnvelope(
            entity_key=KEY, external_event=b"e", event_time_ms=1_000, received_at_ms=5_000_000
        )
    )

    (intent,) = harness.intents
    assert intent.created_at_ms == 5_000_000
    assert intent.expires_at_ms == 5_000_000 + TIMEOUT_MS


def test_reading_an_event_again_moves_times_but_neither_id_nor_fingerprint() -> None:
    harnesses = [AgentHarness(pay), AgentHarness(pay)]

    for harness, received_at_ms in zip(harnesses, (2_000, 900_000), strict=True):
        harness.send(
            AgentEnvelope(
                entity_key=KEY,
                external_event=b"e",
                event_time_ms=1_000,
                received_at_ms=received_at_ms,
            )
        )

    states = [harness.state(KEY).continuation for harness in harnesses]
    assert harnesses[0].intents[0].intent_id == harnesses[1].intents[0].intent_id
    assert states[0].intents[0].fingerprint == states[1].intents[0].fingerprint
    assert states[0].deadline_ms != states[1].deadline_ms
