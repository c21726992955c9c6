"""`beam-agents-effector inspect`: a record in words, on a store of sqlite."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from beam_agents._protos import ToolResult
from beam_agents.effector.backends.sqlite_store import SqliteStore
from beam_agents.effector.cli import app
from beam_agents.effector.ports import Claimed, DedupRecord
from beam_agents.effector.record_in_words import record_in_words

_FINGERPRINT = b"\x01" * 32


async def _claim(path: Path, result: bytes | None) -> None:
    store = SqliteStore(path)
    await store.open()
    expires_at_ms = time.time_ns() // 1_000_000 + 60_000
    answer = await store.claim(
        "intent-1", _FINGERPRINT, "token", lease_ms=30_000, expires_at_ms=expires_at_ms
    )
    assert isinstance(answer, Claimed)
    if result is not None:
        await store.complete(answer.claim, _FINGERPRINT, result, expires_at_ms=expires_at_ms)
    await store.aclose()


def inspect(path: Path, intent_id: str = "intent-1") -> Any:
    return CliRunner().invoke(app, ["inspect", intent_id, "--dedup", f"sqlite:///{path}"])


def test_an_intent_that_has_ended_is_told_with_its_result(tmp_path: Path) -> None:
    result = ToolResult(
        tool_name="refund", status=ToolResult.OK, outcome=ToolResult.APPLIED, attempt=1
    )
    asyncio.run(_claim(tmp_path / "dedup.db", result.SerializeToString()))

    told = inspect(tmp_path / "dedup.db")

    assert told.exit_code == 0
    assert "intent       intent-1\n" in told.output
    assert "state        ended: " in told.output
    assert "result       OK, outcome APPLIED, of attempt 1\n" in told.output


def test_an_intent_that_is_claimed_is_told_with_its_lease(tmp_path: Path) -> None:
    asyncio.run(_claim(tmp_path / "dedup.db", None))

    told = inspect(tmp_path / "dedup.db")

    assert told.exit_code == 0
    assert "state        claimed by attempt 1, whose lease ends in " in told.output


def test_an_intent_without_a_record_exits_with_3(tmp_path: Path) -> None:
    asyncio.run(_claim(tmp_path / "dedup.db", None))

    told = inspect(tmp_path / "dedup.db", "intent-2")

    assert told.exit_code == 3
    assert "no record of intent 'intent-2'" in told.stderr


def test_looking_makes_no_file(tmp_path: Path) -> None:
    told = inspect(tmp_path / "typo.db")

    assert told.exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("uri", ["memory://", "http://store", ""])
def test_a_store_that_cannot_be_asked_exits_with_2(uri: str) -> None:
    told = CliRunner().invoke(app, ["inspect", "intent-1", "--dedup", uri])

    assert told.exit_code == 2
    assert told.stderr.startswith("beam-agents-effector: ")


def test_a_store_that_does_not_answer_exits_with_1() -> None:
    told = CliRunner().invoke(app, ["inspect", "i", "--dedup", "redis://127.0.0.1:9"])

    assert told.exit_code == 1
    assert "127.0.0.1:9" in told.stderr


def words(record: DedupRecord) -> dict[str, str]:
    return dict(record_in_words(record, 1_000_000))


def test_a_lease_that_has_ended_leaves_the_intent_free() -> None:
    record = DedupRecord(_FINGERPRINT, attempt=2, token="t", lease_until_ms=999_000)
    assert words(record)["state"] == ("free: the lease of attempt 2 ended 1970-01-01T00:16:39.000Z")


def test_a_claim_that_was_handed_back_leaves_the_intent_free() -> None:
    assert words(DedupRecord(_FINGERPRINT, attempt=1))["state"].startswith("free: its claim")


def test_an_approval_request_has_no_result() -> None:
    told = words(DedupRecord(_FINGERPRINT, attempt=1, result=b""))
    assert told["state"].startswith("ended: the approval request was passed on")
    assert "result" not in told


def test_noted_calls_are_named() -> None:
    told = words(DedupRecord(_FINGERPRINT, attempt=3, invoked=(1, 3)))
    assert told["attempts"] == "3 claimed; calls of the tool noted by 1, 3"


def test_a_record_that_is_kept_for_ever_can_be_told() -> None:
    assert words(DedupRecord(_FINGERPRINT, keep_until_ms=2**63 - 1))["kept until"]
