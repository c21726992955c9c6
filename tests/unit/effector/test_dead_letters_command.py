"""`beam-agents-effector dead-letters`: what is listed, and what is put back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from beam_agents.effector.cli import app
from beam_agents.effector.dead_letters import DeadLetter
from beam_agents.embedded import EmbeddedBus


class Letters:
    """A bus with a dead-letter topic, and the command on it."""

    def __init__(self, bus: EmbeddedBus) -> None:
        self.bus = bus

    def bury(self, reason: str = "unsigned", **changes: Any) -> None:
        fields: dict[str, Any] = {
            "key": b"acct-1",
            "value": b"intent",
            "headers": (("beam-agents-type", b"ToolIntent"), ("x", b"\xff")),
            "partition": "intents/0",
            "offset": 17,
        }
        letter = DeadLetter(reason=reason, **{**fields, **changes})
        self.bus.publish(
            "dead",
            key=letter.key or b"",
            value=letter.value or b"",
            headers=letter.as_headers(),
        )

    def run(self, *arguments: str) -> Any:
        uri = f"sqlite:///{self.bus.path}?topic="
        env = {"EFFECTOR_DEAD_LETTERS_TO": uri + "dead", "EFFECTOR_INTENTS_FROM": uri + "intents"}
        return CliRunner().invoke(app, ["dead-letters", *arguments], env=env)


@pytest.fixture
def letters(tmp_path: Path) -> Iterator[Letters]:
    with EmbeddedBus(tmp_path / "bus.db") as bus:
        yield Letters(bus)


def test_a_letter_is_listed_with_its_reason_and_where_it_came_from(letters: Letters) -> None:
    letters.bury()

    told = letters.run("ls")

    assert told.exit_code == 0
    assert told.stdout == "dead/0@0  unsigned  from intents/0@17, key acct-1, 6 bytes\n"
    assert "1 dead letters" in told.stderr


def test_what_is_absent_is_said_to_be(letters: Letters) -> None:
    letters.bury("null", key=None, value=None)

    assert "no key, no value" in letters.run("ls").stdout


def test_letters_of_one_reason_are_listed(letters: Letters) -> None:
    letters.bury("unsigned")
    letters.bury("forged")

    assert letters.run("ls", "--reason", "forged").stdout.startswith("dead/0@1  forged")


def test_json_has_the_bytes(letters: Letters) -> None:
    letters.bury()

    told = json.loads(letters.run("ls", "--json").stdout)

    assert bytes.fromhex(told["value"]) == b"intent"
    assert told["headers"] == [["beam-agents-type", b"ToolIntent".hex()], ["x", "ff"]]


def test_records_that_are_no_letters_are_passed_over(letters: Letters) -> None:
    letters.bus.publish("dead", key=b"k", value=b"not a letter")

    assert letters.run("ls").stdout == ""


def test_a_letter_is_put_back_as_it_was_received(letters: Letters) -> None:
    letters.bury()
    letters.bury("forged", value=b"another")

    told = letters.run("redrive", "dead/0@0")

    assert told.exit_code == 0
    [record] = letters.bus.records("intents")
    assert (record.key, record.value) == (b"acct-1", b"intent")
    assert record.headers == (("beam-agents-type", b"ToolIntent"), ("x", b"\xff"))


def test_all_letters_of_a_reason_are_put_back(letters: Letters) -> None:
    for reason in ("unknown_key", "forged", "unknown_key"):
        letters.bury(reason, value=reason.encode())

    letters.run("redrive", "--all", "--reason", "unknown_key")

    assert [each.value for each in letters.bus.records("intents")] == [b"unknown_key"] * 2


def test_a_place_without_a_letter_puts_nothing_back(letters: Letters) -> None:
    letters.bury()

    told = letters.run("redrive", "dead/0@0", "dead/0@9")

    assert told.exit_code == 3
    assert "no dead letter at dead/0@9" in told.stderr
    assert letters.bus.records("intents") == []


@pytest.mark.parametrize("arguments", [(), ("dead/0@0", "--all")])
def test_what_to_put_back_must_be_said_in_one_way(
    letters: Letters, arguments: tuple[str, ...]
) -> None:
    letters.bury()

    told = letters.run("redrive", *arguments)

    assert told.exit_code == 2
    assert "or say --all" in told.stderr
