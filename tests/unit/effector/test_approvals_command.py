"""`beam-agents-effector approvals`: what a person sees, and what their decision becomes."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from beam_agents._protos import AgentEnvelope, ToolIntent
from beam_agents.effector.cli import app
from beam_agents.embedded import EmbeddedBus
from beam_agents.intents import Keyring, Signer, build_intent, verify
from beam_agents.intents.signing import Verified
from beam_agents.intents.topics import type_header

_KEYS = f"ann={base64.b64encode(bytes(range(32))).decode()}"


def request(
    seq: int = 0, *, open_for_ms: int = 3_600_000, args: dict[str, object] | None = None
) -> ToolIntent:
    now_ms = time.time_ns() // 1_000_000
    return build_intent(
        "payments.refund",
        args or {"amount": 4200},
        entity_key=b"acct-1",
        seq=seq,
        kind=ToolIntent.APPROVAL,
        created_at_ms=now_ms - 60_000 + seq,
        expires_at_ms=now_ms + open_for_ms,
        summary="A large refund",
    )


class Desk:
    """A bus with an approvals topic, and the command on it."""

    def __init__(self, bus: EmbeddedBus) -> None:
        self.bus = bus

    def ask(self, intent: ToolIntent) -> str:
        self._publish("approvals", intent)
        return intent.intent_id

    def answer(self, envelope: AgentEnvelope, topic: str = "approvals") -> None:
        self._publish(topic, envelope)

    def decisions(self, topic: str = "approvals") -> list[AgentEnvelope]:
        header = type_header(AgentEnvelope)
        return [
            AgentEnvelope.FromString(record.value or b"")
            for record in self.bus.records(topic)
            if header in record.headers
        ]

    def run(self, *arguments: str, answer: str | None = None) -> Any:
        uri = f"sqlite:///{self.bus.path}?topic=approvals"
        return CliRunner().invoke(
            app, ["approvals", *arguments], input=answer, env={"EFFECTOR_APPROVALS_TO": uri}
        )

    def _publish(self, topic: str, message: ToolIntent | AgentEnvelope) -> None:
        key, value = message.entity_key, message.SerializeToString()
        self.bus.publish(topic, key=key, value=value, headers=(type_header(type(message)),))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with EmbeddedBus(tmp_path / "bus.db") as bus:
        yield Desk(bus)


class TestListing:
    def test_a_request_is_shown_with_its_exact_arguments(self, desk: Desk) -> None:
        intent_id = desk.ask(request())

        told = desk.run("ls")

        assert told.exit_code == 0
        assert f"request      {intent_id}\n" in told.stdout
        assert "key          acct-1\n" in told.stdout
        assert "summary      A large refund\n" in told.stdout
        assert "tool         payments.refund\n" in told.stdout
        assert 'arguments    {"amount":4200}\n' in told.stdout
        assert re.search(r"^state        open for 0:59:\d\d more, until 20", told.stdout, re.M)

    def test_a_request_that_was_published_twice_is_shown_once(self, desk: Desk) -> None:
        desk.ask(request())
        desk.ask(request())

        assert desk.run("ls").stdout.count("request ") == 1

    def test_only_open_requests_are_listed(self, desk: Desk) -> None:
        desk.ask(request(0, open_for_ms=-1))
        desk.run("approve", desk.ask(request(1)), "--yes")
        waiting = desk.ask(request(2))

        told = desk.run("ls", "--json")

        assert [json.loads(line)["intent_id"] for line in told.stdout.splitlines()] == [waiting]

    def test_all_tells_what_became_of_each(self, desk: Desk) -> None:
        desk.ask(request(0, open_for_ms=-1))
        desk.run("approve", desk.ask(request(1)), "--yes")
        desk.run("deny", desk.ask(request(2)), "--yes")
        desk.ask(request(3))

        told = desk.run("ls", "--all", "--json")

        states = [json.loads(line)["state"] for line in told.stdout.splitlines()]
        assert states == ["expired", "approved", "denied", "open"]

    def test_nothing_that_a_stranger_wrote_moves_the_cursor(self, desk: Desk) -> None:
        desk.ask(request(args={"to": "\u202eevil\x9b1A"}))

        told = desk.run("ls")

        assert r'arguments    {"to":"\u202eevil\u009b1A"}' in told.stdout

    def test_other_records_of_the_topic_are_passed_over(self, desk: Desk) -> None:
        desk.bus.publish("approvals", key=b"k", value=b"\xff\xff")
        desk.bus.publish("approvals", key=b"k", value=None)
        desk.ask(build_intent("payments.refund", {}))

        told = desk.run("ls", "--all")

        assert told.stdout == ""
        assert "0 requests" in told.stderr

    def test_a_request_that_does_not_verify_is_left_out(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KEYS", _KEYS)
        genuine = request(1)
        Signer(Keyring.parse(_KEYS), "ann").sign(genuine)
        desk.ask(request(0))
        desk.ask(genuine)

        told = desk.run("ls", "--json", "--intent-keys", "env:KEYS")

        ids = [json.loads(line)["intent_id"] for line in told.stdout.splitlines()]
        assert ids == [genuine.intent_id]
        assert "1 records that do not verify" in told.stderr


class TestDeciding:
    def test_an_approval_is_published_under_the_key_of_the_agent(self, desk: Desk) -> None:
        intent_id = desk.ask(request())

        told = desk.run("approve", intent_id, "--approver", "ann", "--yes")

        assert told.exit_code == 0
        [decision] = desk.decisions()
        assert decision.entity_key == b"acct-1"
        assert decision.approval.intent_id == intent_id
        assert decision.approval.approved
        assert decision.approval.approver == "ann"

    def test_a_denial_carries_its_reason(self, desk: Desk) -> None:
        desk.run("deny", desk.ask(request()), "--reason", "too much", "--yes")

        [decision] = desk.decisions()
        assert not decision.approval.approved
        assert decision.approval.reason == "too much"

    def test_decisions_may_have_a_topic_of_their_own(self, desk: Desk) -> None:
        decisions = f"sqlite:///{desk.bus.path}?topic=decisions"

        desk.run("approve", desk.ask(request()), "--decisions", decisions, "--yes")

        assert len(desk.decisions("decisions")) == 1
        assert desk.decisions() == []

    def test_a_decision_is_signed_with_the_key_of_the_approver(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KEYS", _KEYS)

        desk.run(
            *("approve", desk.ask(request()), "--yes"),
            *("--approval-keys", "env:KEYS", "--sign-with", "ann"),
        )

        [decision] = desk.decisions()
        assert verify(decision.approval, Keyring.parse(_KEYS)) == Verified("ann")

    def test_a_person_sees_what_they_decide_and_may_change_their_mind(self, desk: Desk) -> None:
        told = desk.run("approve", desk.ask(request()), answer="n\n")

        assert 'arguments    {"amount":4200}\n' in told.stdout
        assert told.exit_code == 3
        assert desk.decisions() == []

    def test_a_request_is_decided_once(self, desk: Desk) -> None:
        intent_id = desk.ask(request())
        desk.run("approve", intent_id, "--approver", "ann", "--yes")

        told = desk.run("deny", intent_id, "--yes")

        assert told.exit_code == 3
        assert "is decided: approved by ann" in told.stderr
        assert len(desk.decisions()) == 1

    def test_a_decision_that_does_not_verify_decides_nothing(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KEYS", _KEYS)
        intent_id = desk.ask(request())
        desk.run("deny", intent_id, "--yes")  # by whoever could write to the topic

        keys = ("--approval-keys", "env:KEYS")
        told = desk.run("approve", intent_id, *keys, "--sign-with", "ann", "--yes")

        assert told.exit_code == 0

    def test_an_expired_request_is_not_decided(self, desk: Desk) -> None:
        told = desk.run("approve", desk.ask(request(open_for_ms=-1)), "--yes")

        assert told.exit_code == 3
        assert "expired" in told.stderr
        assert desk.decisions() == []

    def test_an_unknown_request_exits_with_3(self, desk: Desk) -> None:
        desk.ask(request())

        told = desk.run("approve", "no-such-id", "--yes")

        assert told.exit_code == 3
        assert "no request 'no-such-id'" in told.stderr

    @pytest.mark.parametrize(
        "half", [("--sign-with", "ann"), ("--approval-keys", "env:KEYS")], ids=["no keys", "no id"]
    )
    def test_half_a_signature_is_a_mistake(
        self, desk: Desk, half: tuple[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KEYS", _KEYS)

        told = desk.run("approve", desk.ask(request()), *half, "--yes")

        assert told.exit_code == 2
        assert "needs both --approval-keys and --sign-with" in told.stderr

    def test_a_key_that_is_not_there_is_named(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KEYS", _KEYS)

        keys = ("--approval-keys", "env:KEYS")
        told = desk.run("approve", desk.ask(request()), *keys, "--sign-with", "bob", "--yes")

        assert told.exit_code == 2
        assert "'bob'" in told.stderr


class TestMistakes:
    def test_no_topic_is_a_mistake(self) -> None:
        told = CliRunner().invoke(app, ["approvals", "ls"], env={"EFFECTOR_APPROVALS_TO": None})

        assert told.exit_code == 2
        assert "--approvals-to (or EFFECTOR_APPROVALS_TO) is missing" in told.stderr

    @pytest.mark.parametrize("uri", ["pubsub://p/t", "http://x", "sqlite:///typo.db?topic=t"])
    def test_a_topic_that_cannot_be_looked_through_is_a_mistake(
        self, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)

        told = CliRunner().invoke(app, ["approvals", "ls", "--approvals-to", uri])

        assert told.exit_code == 2
        assert len(told.stderr.splitlines()) == 1

    def test_a_broker_that_is_away_exits_with_1(self) -> None:
        told = CliRunner().invoke(
            app, ["approvals", "ls", "--approvals-to", "kafka://127.0.0.1:1/approvals"]
        )

        assert told.exit_code == 1
        assert "connection refused" in told.stderr
