from __future__ import annotations

import os
from pathlib import Path

import pytest

from beam_agents.effector.refused_tools import RefusedTools


def write(path: Path, text: str, *, at_ns: int) -> None:
    path.write_text(text)
    os.utime(path, ns=(at_ns, at_ns))


def test_names_are_separated_by_commas() -> None:
    assert RefusedTools("payments.refund, mail.send")() == {"payments.refund", "mail.send"}


def test_a_file_has_a_name_a_line_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "stop"
    path.write_text("# incident 7\npayments.refund  # until it is over\n\nmail.send\n")

    assert RefusedTools(f"file:{path}")() == {"payments.refund", "mail.send"}


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "stop"
    write(path, "", at_ns=1)
    refused = RefusedTools(f"file:{path}")
    assert refused() == frozenset()

    write(path, "payments.refund", at_ns=2)

    assert refused() == {"payments.refund"}


def test_a_file_that_vanishes_leaves_what_was_stopped_stopped(tmp_path: Path) -> None:
    path = tmp_path / "stop"
    path.write_text("payments.refund")
    refused = RefusedTools(f"file:{path}")

    path.unlink()

    assert refused() == {"payments.refund"}


def test_a_file_that_cannot_be_read_at_the_start_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot read '.*missing'"):
        RefusedTools(f"file:{tmp_path / 'missing'}")


def test_a_name_that_no_tool_has_is_warned_of_with_the_closest_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused = RefusedTools("payments.refnd,mail.send", known=["payments.refund", "mail.send"])

    assert refused() == {"payments.refnd", "mail.send"}
    refused()

    assert [record.getMessage() for record in caplog.records] == [
        "--refuse-tools: no tool here is called 'payments.refnd'; did you mean 'payments.refund'?"
    ]


def test_a_name_that_comes_into_the_file_is_judged_as_well(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "stop"
    write(path, "mail.send", at_ns=1)
    refused = RefusedTools(f"file:{path}", known=["mail.send"])
    refused()
    assert caplog.records == []

    write(path, "mail.snd", at_ns=2)
    refused()

    assert "no tool here is called 'mail.snd'" in caplog.text
