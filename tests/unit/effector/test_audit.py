"""`beam-agents-effector audit`: a clean story holds, a seeded violation of each kind is caught."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents.effector.cli import app
from beam_agents.effector.dead_letters import DeadLetter
from beam_agents.embedded import EmbeddedBus
from beam_agents.intents import build_decision, build_intent
from beam_agents.intents.fingerprint import fingerprint
from beam_agents.intents.topics import type_header
from beam_agents.tools import ToolRegistry, tool

_MINUTE_MS = 60_000
_PATH = "tests.unit.effector.test_audit:TOOLS"


@tool(side_effect=True)
def note(text: str) -> None:
    """Write something down."""


@tool(side_effect=True, requires_approval=True)
def pay(amount: int) -> None:
    """Pay somebody."""


TOOLS = ToolRegistry(note, pay)


def intent(seq: int, **changes: Any) -> ToolIntent:
    """Build the intent of one key's activation `seq`, long past its deadline."""
    options = {"created_at_ms": seq * _MINUTE_MS, "expires_at_ms": (seq + 10) * _MINUTE_MS}
    return build_intent("note", {"text": "x"}, entity_key=b"k", seq=seq, **{**options, **changes})


def granted(seq: int, *, request_seq: int | None = None, **changes: Any) -> ToolIntent:
    """Build a payment that a person approved."""
    request = build_intent(
        "pay",
        {"amount": 5},
        entity_key=b"k",
        seq=seq if request_seq is None else request_seq,
        step_index=9,
        kind=ToolIntent.APPROVAL,
        expires_at_ms=_MINUTE_MS,
    )
    decision = build_decision(request, approved=True, approver="ann", decided_at_ms=1_000)
    payment = build_intent("pay", {"amount": 5}, entity_key=b"k", seq=seq, expires_at_ms=_MINUTE_MS)
    payment.approval.CopyFrom(decision.approval)
    for name, value in changes.items():
        setattr(payment.approval, name, value)
    return payment


def result_of(asked: ToolIntent, **changes: Any) -> ToolResult:
    """Build the answer of a tool that ran a second after the intent was written."""
    started_at_ms = asked.created_at_ms + 1_000
    fields: dict[str, Any] = {
        "intent_id": asked.intent_id,
        "entity_key": asked.entity_key,
        "fingerprint": fingerprint(asked),
        "status": ToolResult.OK,
        "outcome": ToolResult.APPLIED,
        "attempt": 1,
        "started_at_ms": started_at_ms,
        "completed_at_ms": started_at_ms + 100,
    }
    return ToolResult(**{**fields, **changes})


class Story:
    """Topics and files, as an effector and its tools would leave them."""

    def __init__(self, folder: Path, bus: EmbeddedBus) -> None:
        self._folder = folder
        self.bus = bus

    def ask(self, *asked: ToolIntent) -> None:
        for each in asked:
            self._publish("intents", each)

    def answer(self, *results: ToolResult) -> None:
        for each in results:
            self._publish("results", each)

    def perform(self, *asked: ToolIntent) -> None:
        """Ask, call the tool and answer, each before the next."""
        for each in asked:
            self.ask(each)
            self.invoke(each)
            self.answer(result_of(each))

    def request(self, asked: ToolIntent) -> None:
        self._publish("approvals", asked)

    def bury(self, value: bytes, *, offset: int) -> None:
        letter = DeadLetter(b"k", value, "undecodable", (), "intents/0", offset)
        self.bus.publish("dead", key=b"k", value=value, headers=letter.as_headers())

    def invoke(self, asked: ToolIntent, *, attempt: int = 1, **changes: Any) -> None:
        line = {
            "intent_id": asked.intent_id,
            "attempt": attempt,
            "at_ms": asked.created_at_ms + 1_000,
            "worker": f"w{attempt}",
        }
        self._write("ledger.jsonl", {**line, **changes})

    def fault(self, worker: str, *, at_ms: int) -> None:
        self._write("faults.jsonl", {"worker": worker, "from_ms": at_ms, "to_ms": at_ms})

    def audit(self, *options: str) -> Any:
        uri = f"sqlite:///{self.bus.path}?topic="
        topics = {
            "EFFECTOR_INTENTS_FROM": uri + "intents",
            "EFFECTOR_RESULTS_TO": uri + "results",
            "EFFECTOR_DEAD_LETTERS_TO": uri + "dead",
            "EFFECTOR_APPROVALS_TO": uri + "approvals",
            "EFFECTOR_REGISTRY": _PATH,
        }
        for name in ("ledger", "faults"):
            if (self._folder / f"{name}.jsonl").exists():
                options = (*options, f"--{name}", str(self._folder / f"{name}.jsonl"))
        return CliRunner().invoke(app, ["audit", *options], env=topics)

    def broken(self, *options: str) -> dict[str, list[str]]:
        """Audit, and return the intents that broke each guarantee which was not kept."""
        told = self.audit("--json", *options)
        assert told.exit_code in (0, 3), told.stderr
        checks = [json.loads(line) for line in told.stdout.splitlines()]
        broken = {
            each["check"]: [violation["intent_id"] for violation in each["violations"]]
            for each in checks
            if each.get("violations")
        }
        assert (told.exit_code == 3) == bool(broken)
        return broken

    def _publish(self, topic: str, message: ToolIntent | ToolResult) -> None:
        key, value = message.entity_key, message.SerializeToString()
        self.bus.publish(topic, key=key, value=value, headers=(type_header(type(message)),))

    def _write(self, name: str, line: dict[str, object]) -> None:
        with (self._folder / name).open("a") as file:
            file.write(json.dumps(line) + "\n")


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    with EmbeddedBus(tmp_path / "bus.db") as bus:
        yield Story(tmp_path, bus)


def test_a_story_as_it_should_be_holds(story: Story) -> None:
    story.perform(*(intent(seq) for seq in range(5)), granted(5))
    story.ask(intent(0))  # a pipeline that was restarted writes it again
    story.answer(result_of(intent(0)))
    question = intent(6, kind=ToolIntent.APPROVAL)
    story.ask(question)
    story.request(question)
    story.bus.publish("intents", key=b"k", value=b"\xff")
    story.bury(b"\xff", offset=8)
    again = intent(7)
    story.ask(again)
    story.invoke(again)
    story.fault("w1", at_ms=again.created_at_ms + 1_500)
    story.invoke(again, attempt=2, at_ms=again.created_at_ms + 2_000)
    story.answer(result_of(again, attempt=2))

    told = story.audit()

    assert told.exit_code == 0, told.output
    assert told.stdout.count("\nholds ") == 9
    assert told.stdout.startswith("9 records of 8 intents, 8 results, 1 dead letters, ")
    assert "of which 1 repeats" in told.stdout


def test_an_empty_story_holds(story: Story) -> None:
    assert story.broken() == {}


class TestLoss:
    def test_an_intent_without_an_answer_is_lost_once_its_deadline_is_past(
        self, story: Story
    ) -> None:
        story.ask(intent(0))

        assert story.broken() == {"lost": [intent(0).intent_id]}

    def test_an_intent_that_is_open_is_not_lost(self, story: Story) -> None:
        open_still = intent(0, expires_at_ms=10**15)
        story.ask(open_still)

        assert story.broken() == {}
        assert story.broken("--settled") == {"lost": [open_still.intent_id]}

    def test_the_answer_to_other_arguments_is_no_answer(self, story: Story) -> None:
        other = build_intent("note", {"text": "y"}, entity_key=b"k", created_at_ms=0)
        story.ask(intent(0), other)
        story.answer(result_of(other))

        assert story.broken() == {"lost": [intent(0).intent_id]}

    def test_a_request_that_reached_nobody_is_lost(self, story: Story) -> None:
        story.ask(intent(0, kind=ToolIntent.APPROVAL))

        assert story.broken() == {"lost": [intent(0).intent_id]}

    def test_a_record_that_is_no_intent_and_was_not_put_aside_is_lost(self, story: Story) -> None:
        story.bus.publish("intents", key=b"k", value=b"\xff")

        assert story.broken() == {"lost": [""]}


class TestAgreement:
    def test_two_results_for_one_intent_disagree(self, story: Story) -> None:
        story.ask(intent(0))
        story.answer(result_of(intent(0)), result_of(intent(0), attempt=2))

        assert story.broken() == {"agreed": [intent(0).intent_id]}

    def test_copies_that_differ_in_a_byte_are_no_copies(self, story: Story) -> None:
        story.ask(intent(0))
        story.answer(result_of(intent(0)), result_of(intent(0), completed_at_ms=2))

        assert story.broken() == {"copies": [intent(0).intent_id]}

    def test_an_expiry_that_knows_nothing_agrees_with_any_result(self, story: Story) -> None:
        unknown = {"status": ToolResult.EXPIRED, "outcome": ToolResult.UNKNOWN, "attempt": 0}
        story.ask(intent(0))
        story.answer(result_of(intent(0)), result_of(intent(0), **unknown))

        assert story.broken() == {}

    @pytest.mark.parametrize(
        "changes", [{"intent_id": "stranger"}, {"entity_key": b"other"}, {"fingerprint": b"x" * 32}]
    )
    def test_a_result_that_answers_nothing_is_foreign(
        self, story: Story, changes: dict[str, Any]
    ) -> None:
        story.perform(intent(0))
        foreign = result_of(intent(0), **changes)
        story.answer(foreign)

        assert story.broken()["foreign"] == [foreign.intent_id]


class TestOrder:
    def test_by_the_ledger_a_later_intent_that_started_first_is_out_of_order(
        self, story: Story
    ) -> None:
        story.ask(intent(0), intent(1))
        for each in (intent(1), intent(0)):
            story.invoke(each)
            story.answer(result_of(each))

        assert story.broken() == {"order": [intent(1).intent_id]}

    def test_by_the_clock_an_intent_that_started_before_the_one_before_ended_is_out_of_order(
        self, story: Story
    ) -> None:
        story.ask(intent(0), intent(1))
        story.answer(
            result_of(intent(0), started_at_ms=0, completed_at_ms=100_000),
            result_of(intent(1), started_at_ms=50_000, completed_at_ms=60_000),
        )

        assert story.broken() == {}  # a start at 0 tells nothing
        story.ask(intent(2), intent(3))
        story.answer(
            result_of(intent(2), started_at_ms=110_000, completed_at_ms=200_000),
            result_of(intent(3), started_at_ms=150_000, completed_at_ms=160_000),
        )
        assert story.broken() == {"order": [intent(3).intent_id]}

    def test_intents_that_may_overlap_have_no_order_among_themselves(self, story: Story) -> None:
        asked = [intent(seq, may_overlap=True) for seq in range(2)]
        story.ask(*asked)
        for each in reversed(asked):
            story.invoke(each)
            story.answer(result_of(each))

        assert story.broken() == {}

    def test_an_intent_that_may_overlap_still_follows_one_that_may_not(self, story: Story) -> None:
        asked = [intent(0), intent(1, may_overlap=True)]
        story.ask(*asked)
        for each in reversed(asked):
            story.invoke(each)
            story.answer(result_of(each))

        assert story.broken() == {"order": [intent(1).intent_id]}

    def test_keys_have_no_order_between_them(self, story: Story) -> None:
        asked = [intent(0), build_intent("note", {"text": "x"}, entity_key=b"other")]
        story.ask(*asked)
        for each in reversed(asked):
            story.invoke(each)
            story.answer(result_of(each))

        assert story.broken() == {}


class TestDeadlines:
    def test_a_result_of_a_tool_that_started_too_late_is_caught(self, story: Story) -> None:
        story.ask(intent(0))
        story.answer(result_of(intent(0), started_at_ms=11 * _MINUTE_MS))

        assert story.broken() == {"deadline": [intent(0).intent_id]}

    def test_a_call_that_came_too_late_is_caught(self, story: Story) -> None:
        story.ask(intent(0))
        story.invoke(intent(0), at_ms=11 * _MINUTE_MS)
        story.answer(result_of(intent(0)))

        assert story.broken() == {"deadline": [intent(0).intent_id]}

    def test_clocks_may_be_apart(self, story: Story) -> None:
        story.ask(intent(0))
        story.answer(result_of(intent(0), started_at_ms=10 * _MINUTE_MS + 4_999))

        assert story.broken() == {}
        assert story.broken("--clock-tolerance-ms", "0") == {"deadline": [intent(0).intent_id]}


def _no_grant() -> ToolIntent:
    payment = granted(0)
    payment.ClearField("approval")
    return payment


class TestApprovals:
    @pytest.mark.parametrize(
        "payment",
        [
            _no_grant,
            lambda: granted(0, approved=False),
            lambda: granted(0, args_digest=b"x" * 32),
            lambda: granted(0, expires_at_ms=0),
        ],
        ids=["no grant", "a denial", "other arguments", "never set to expire"],
    )
    def test_what_ran_without_its_grant_is_caught(
        self, story: Story, payment: Callable[[], ToolIntent]
    ) -> None:
        story.perform(payment())

        assert story.broken() == {"approved": [payment().intent_id]}

    def test_what_was_rejected_needed_no_grant(self, story: Story) -> None:
        rejected = {"status": ToolResult.REJECTED, "outcome": ToolResult.NOT_APPLIED}
        story.ask(_no_grant())
        story.answer(result_of(_no_grant(), **rejected))

        assert story.broken() == {}

    def test_a_grant_that_was_used_twice_is_caught(self, story: Story) -> None:
        story.perform(granted(1, request_seq=1), granted(2, request_seq=1))

        assert len(story.broken()["approved"]) == 1

    def test_a_grant_that_had_expired_is_caught(self, story: Story) -> None:
        payment = granted(0, expires_at_ms=2_000)
        story.ask(payment)
        story.answer(result_of(payment, started_at_ms=30_000))

        assert story.broken() == {"approved": [payment.intent_id]}

    def test_a_grant_by_nobody_known_is_caught(
        self, story: Story, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KEYS", "ann=AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=")
        story.perform(granted(0))

        assert story.broken("--approval-keys", "env:KEYS") == {"approved": [granted(0).intent_id]}


class TestLedger:
    def test_a_call_for_no_intent_is_caught(self, story: Story) -> None:
        story.invoke(intent(0))

        assert story.broken() == {"invocations": [intent(0).intent_id]}

    def test_a_result_without_a_call_is_caught(self, story: Story) -> None:
        story.perform(intent(0))
        story.ask(intent(1))
        story.answer(result_of(intent(1)))

        assert story.broken() == {"invocations": [intent(1).intent_id]}

    def test_two_calls_of_one_attempt_are_caught(self, story: Story) -> None:
        story.perform(intent(0))
        story.invoke(intent(0))

        assert story.broken() == {"invocations": [intent(0).intent_id]}

    def test_a_call_of_what_was_not_applied_is_caught(self, story: Story) -> None:
        never = {"status": ToolResult.EXPIRED, "outcome": ToolResult.NOT_APPLIED}
        story.ask(intent(0))
        story.invoke(intent(0))
        story.answer(result_of(intent(0), **never))

        assert story.broken() == {"invocations": [intent(0).intent_id]}

    def test_a_repeat_that_no_fault_explains_is_caught(self, story: Story) -> None:
        story.perform(intent(0))
        story.invoke(intent(0), attempt=2)
        story.fault("w2", at_ms=1_500)

        assert story.broken() == {"repeats": [intent(0).intent_id]}

    def test_without_a_fault_log_repeats_are_counted_and_not_judged(self, story: Story) -> None:
        story.perform(intent(0))
        story.invoke(intent(0), attempt=2)

        told = story.audit()

        assert told.exit_code == 0
        assert "to judge it, give: faults" in told.stdout
        assert "of which 1 repeats" in told.stdout


class TestReporting:
    def test_a_violation_is_told_with_its_place(self, story: Story) -> None:
        story.ask(intent(0))

        told = story.audit()

        assert told.exit_code == 3
        assert "BROKEN     every intent has its answer" in told.stdout
        assert f"{intent(0).intent_id} written at intents/0@0" in told.stdout
        assert "a guarantee was not kept" in told.stderr

    def test_no_more_violations_are_shown_than_asked_for(self, story: Story) -> None:
        story.ask(*(intent(seq) for seq in range(5)))

        told = story.audit("--limit", "2")

        assert told.stdout.count("written at") == 2
        assert "and 3 more" in told.stdout

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("{", "line 2"),
            ('{"intent_id": "a"}', "line 2: attempt: Field required"),
            ('{"intent_id": "a", "attempt": "x", "at_ms": 1}', "line 2: attempt"),
        ],
    )
    def test_a_ledger_that_is_none_is_a_mistake(
        self, story: Story, tmp_path: Path, line: str, told: str
    ) -> None:
        story.perform(intent(0))
        with (tmp_path / "ledger.jsonl").open("a") as file:
            file.write(line)

        result = story.audit()

        assert result.exit_code == 2
        assert told in result.stderr

    def test_a_missing_ledger_is_a_mistake(self, story: Story) -> None:
        result = story.audit("--ledger", "no-such-file")

        assert result.exit_code == 2
        assert "cannot read 'no-such-file'" in result.stderr

    def test_decisions_on_the_approvals_topic_are_passed_over(self, story: Story) -> None:
        envelope = AgentEnvelope(entity_key=b"k", approval=granted(0).approval)
        headers = (type_header(AgentEnvelope),)
        story.bus.publish(
            "approvals", key=b"k", value=envelope.SerializeToString(), headers=headers
        )

        assert story.broken() == {}
