"""Behaviours written once, to be shown on the pure engine and on Beam's runners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import TimestampedValue

from beam_agents._protos import AgentEnvelope, ToolResult
from beam_agents.core.agent import Agent
from beam_agents.core.config import AgentConfig
from beam_agents.core.testing import AgentHarness
from tests.unit.core.agents import pay
from tests.unit.core.envelopes import (
    answer,
    approval,
    denial,
    ended,
    event,
    export,
    intents_of,
    keys,
    of_another_request,
    of_namespace,
    received,
    retry,
    signed,
)
from tests.unit.core.scenario_agents import (
    asks_and_reckons,
    asks_first,
    fails_on_poison,
    fires,
    first_answer,
    may_be_refused,
    model,
    recovers,
    remembers,
    returns_what_cannot_be,
    says_its_seq,
    says_when,
    two_at_once,
    two_effects,
)


@dataclass(frozen=True)
class Scenario:
    """What is sent, and what the engine makes of it.

    Attributes:
        name: The behaviour.
        agent: The agent.
        inputs: What reaches it, in order: envelopes, and times that pass.
        until_ms: Where time ends; None leaves every timer unfired.
        outputs: Of `.output`, sorted.
        errors: The reasons on `.errors`, sorted.
    """

    name: str
    agent: Agent
    inputs: Sequence[AgentEnvelope | int]
    outputs: Sequence[bytes] = ()
    errors: Sequence[str] = ()
    until_ms: int | None = None
    config: AgentConfig = field(default_factory=AgentConfig)

    def __str__(self) -> str:
        return self.name

    @property
    def envelopes(self) -> list[AgentEnvelope]:
        """What reaches it, were it all there at once."""
        return [each for each in self.inputs if isinstance(each, AgentEnvelope)]

    @property
    def waits(self) -> bool:
        """Whether time passes before the last envelope."""
        return len(self.envelopes) < len(self.inputs)

    def on(self, stream: TestStream) -> TestStream:
        """Put it on a stream, to the end of time."""
        now_ms = 0
        stream.advance_watermark_to(0)
        for each in (*self.inputs, *([] if self.until_ms is None else [self.until_ms])):
            if isinstance(each, AgentEnvelope):
                stream.add_elements([TimestampedValue(each, each.event_time_ms / 1000)])
                continue
            while now_ms < each:  # in steps: a timer sets off what is seen before the end of time
                now_ms += 10_000
                stream.advance_watermark_to(now_ms / 1000)
        stream.advance_watermark_to_infinity()
        return stream

    def on_the_engine(self) -> AgentHarness:
        """Play it on the pure engine."""
        harness = AgentHarness(self.agent, self.config)
        for each in self.inputs:
            if isinstance(each, int):
                harness.advance_to(each)
            else:
                harness.send(each)
        if self.until_ms is not None:
            harness.advance_to(self.until_ms)
        return harness


_BEGIN = event(b"a", b"e", 1_000)
_PAYMENT = intents_of(pay, _BEGIN)[0]
_FIRST = intents_of(two_effects, _BEGIN)[0]
_SECOND = intents_of(two_effects, _BEGIN, answer(_FIRST, b"1", 2_000))[1]
_NORTH, _SOUTH = intents_of(first_answer, _BEGIN)
_REQUEST = intents_of(asks_first, _BEGIN)[0]
_EFFECT = intents_of(asks_first, _BEGIN, approval(_REQUEST, 2_000))[1]
_RECOVERY = intents_of(recovers, _BEGIN)[0]
_ONE, _TWO = intents_of(two_at_once, _BEGIN)
_MAIL = intents_of(fires, _BEGIN)[0]
_DOUBTED = intents_of(may_be_refused, _BEGIN)[0]
_MISSED = intents_of(may_be_refused, event(b"b", b"e", 1_000))[0]

SCENARIOS = [
    Scenario(
        "an_answer_resumes",
        pay,
        [_BEGIN, answer(_PAYMENT, b"1", 2_000)],
        outputs=[b"e: OK 1"],
    ),
    Scenario(
        "a_repeated_answer_resumes_once",
        pay,
        [_BEGIN, answer(_PAYMENT, b"1", 2_000), answer(_PAYMENT, b"1", 2_000)],
        outputs=[b"e: OK 1"],
    ),
    Scenario(
        "an_early_answer_is_kept",
        pay,
        [answer(_PAYMENT, b"1", 500), _BEGIN],
        outputs=[b"e: OK 1"],
    ),
    Scenario(
        "two_rounds_of_one_activation",
        two_effects,
        [_BEGIN, answer(_FIRST, b"1", 2_000), answer(_SECOND, b"2", 3_000)],
        outputs=[b"both"],
    ),
    Scenario(
        "events_of_a_key_run_in_order",
        remembers,
        [event(b"a", b"1", 1), event(b"b", b"x", 2), event(b"a", b"2", 3), event(b"a", b"3", 4)],
        outputs=[b"1", b"12", b"123", b"x"],
    ),
    Scenario(
        "a_repeated_event_is_dropped",
        remembers,
        [event(b"a", b"1", 1, "evt"), event(b"a", b"1", 2, "evt")],
        outputs=[b"1"],
    ),
    Scenario(
        "a_failure_is_reported_and_the_next_event_runs",
        fails_on_poison,
        [event(b"a", b"poison", 1), event(b"a", b"e", 2)],
        outputs=[b"e"],
        errors=["agent_failed"],
    ),
    Scenario(
        "an_envelope_that_asks_for_nothing_known_is_reported",
        pay,
        [AgentEnvelope(entity_key=b"a"), export(b"a", 1_000)],
        errors=["malformed", "unsupported"],
    ),
    Scenario(
        "a_suspension_ends_closed",
        pay,
        [_BEGIN],
        errors=["suspension_timeout"],
        until_ms=40_000,
    ),
    Scenario(
        "a_suspension_may_end_in_a_resume",
        says_when,
        [_BEGIN],
        outputs=[b"31000"],
        until_ms=40_000,
        config=AgentConfig(on_timeout="resume"),
    ),
    Scenario(
        "a_queued_event_runs_after_a_timeout",
        pay,
        [_BEGIN, event(b"a", b"f", 2_000)],
        errors=["suspension_timeout", "suspension_timeout"],
        until_ms=100_000,
    ),
    Scenario(
        "any_resumes_at_the_first_answer",
        first_answer,
        [_BEGIN, answer(_SOUTH, b'"south"', 2_000), answer(_NORTH, b'"north"', 3_000)],
        outputs=[b"south"],
    ),
    Scenario(
        "an_approval_given_three_times_acts_once",
        asks_first,
        [
            _BEGIN,
            approval(_REQUEST, 2_000),
            approval(_REQUEST, 2_000),
            answer(_EFFECT, b"1", 3_000),
            approval(_REQUEST, 2_000),
        ],
        outputs=[b"paid"],
    ),
    Scenario(
        "a_retry_goes_on_where_a_resume_failed",
        recovers,
        [_BEGIN, answer(_RECOVERY, b"1", 2_000), retry(b"a", 0, 6_000)],
        outputs=[b"recovered"],
        errors=["resume_failed"],
    ),
    Scenario(
        "a_hold_ends",
        recovers,
        [_BEGIN, answer(_RECOVERY, b"1", 2_000), event(b"a", b"f", 3_000)],
        errors=["hold_ended", "resume_failed", "suspension_timeout"],
        until_ms=50_000,
        config=AgentConfig(hold_ms=5_000),
    ),
    Scenario(
        "the_answer_of_another_namespace_is_dropped",
        pay,
        [_BEGIN, of_namespace(answer(_PAYMENT, b"1", 2_000), "other")],
        errors=["suspension_timeout"],
        until_ms=40_000,
    ),
    Scenario(
        "a_full_queue_refuses_the_newest",
        pay,
        [
            _BEGIN,
            event(b"a", b"f", 2_000),
            event(b"a", b"g", 3_000),
            answer(_PAYMENT, b"1", 4_000),
        ],
        outputs=[b"e: OK 1"],
        errors=["queue_full", "suspension_timeout"],
        until_ms=40_000,
        config=AgentConfig(max_queued_events=1),
    ),
    Scenario(
        "all_waits_for_answers_in_any_order_one_of_them_expired",
        two_at_once,
        [
            _BEGIN,
            ended(_TWO, ToolResult.EXPIRED, 2_000),
            ended(_TWO, ToolResult.EXPIRED, 2_000),
            answer(_ONE, b"1", 3_000),
        ],
        outputs=[b"OK EXPIRED"],
    ),
    Scenario(
        "a_failure_that_nobody_waits_for_is_an_error",
        fires,
        [_BEGIN, ended(_MAIL, ToolResult.ERROR, 2_000)],
        outputs=[b"e"],
        errors=["unawaited_failure"],
    ),
    Scenario(
        "a_request_denied_or_expired_gives_no_grant",
        may_be_refused,
        [
            _BEGIN,
            event(b"b", b"e", 1_000),
            denial(_DOUBTED, 2_000),
            ended(_MISSED, ToolResult.EXPIRED, 3_000),
        ],
        outputs=[b"EXPIRED: ", b"denied by 'ann': too much"],
    ),
    Scenario(
        "an_answer_of_another_request_changes_nothing",
        pay,
        [_BEGIN, of_another_request(answer(_PAYMENT, b"2", 2_000)), answer(_PAYMENT, b"1", 3_000)],
        outputs=[b"e: OK 1"],
        errors=["foreign"],
    ),
    Scenario(
        "an_unsigned_answer_changes_nothing",
        pay,
        [_BEGIN, answer(_PAYMENT, b"2", 2_000), signed(answer(_PAYMENT, b"1", 3_000))],
        outputs=[b"e: OK 1"],
        errors=["unverified"],
        config=AgentConfig(result_keys=keys),
    ),
    Scenario(
        "an_answer_after_the_timeout_is_late",
        pay,
        [_BEGIN, 40_000, answer(_PAYMENT, b"1", 41_000)],
        errors=["late", "suspension_timeout"],
    ),
    Scenario(
        "a_backlog_counts_from_when_it_was_received_unless_it_is_stale",
        says_when,
        [received(event(b"a", b"old", 1_000), 60_000), received(event(b"b", b"e", 5_000), 60_000)],
        outputs=[b"90000"],
        errors=["stale"],
        until_ms=100_000,
        config=AgentConfig(max_event_age_ms=58_000, on_timeout="resume"),
    ),
    Scenario(
        "a_model_and_a_read_only_tool_are_called_inside",
        asks_and_reckons,
        [event(b"a", b"ch_17", 1_000)],
        outputs=[b"840"],
        config=AgentConfig(provider_factory=model),
    ),
    Scenario(
        "an_idle_key_keeps_its_seq_and_no_memory",
        says_its_seq,
        [event(b"a", b"e", 1_000), event(b"a", b"e", 2_000), 20_000, event(b"a", b"e", 21_000)],
        outputs=[b"0", b"2", b"remembers 1"],
        config=AgentConfig(ttl_ms=5_000),
    ),
    Scenario(
        "what_cannot_be_committed_is_an_error_and_sends_nothing",
        returns_what_cannot_be,
        [event(b"a", b"nothing to wait for", 1_000), event(b"a", b"too large", 2_000)],
        errors=["invalid_return", "state_too_large"],
        config=AgentConfig(max_snapshot_bytes=99),
    ),
    Scenario(
        "a_failed_resume_may_end_at_once",
        recovers,
        [_BEGIN, answer(_RECOVERY, b"1", 2_000), retry(b"a", 0, 7_000)],
        errors=["resume_failed"],
        config=AgentConfig(on_resume_error="end"),
    ),
    Scenario(
        "a_waiting_key_may_refuse_events",
        pay,
        [_BEGIN, event(b"a", b"f", 2_000), answer(_PAYMENT, b"1", 3_000)],
        outputs=[b"e: OK 1"],
        errors=["suspended"],
        config=AgentConfig(while_suspended="reject"),
    ),
]
