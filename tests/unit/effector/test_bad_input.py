"""Records that are no intents to act on, and intents that cannot be performed."""

from __future__ import annotations

import pytest

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.intents import Outcome, Status
from beam_agents.tools import ToolRegistry, tool
from tests.unit.effector.requests import request


@tool(side_effect=True)
async def charge(amount: int = 0) -> int:
    return amount


@tool
async def look_up(name: str) -> str:
    return name


TOOLS = ToolRegistry(charge, look_up)

# A string field whose bytes are no UTF-8.
BROKEN_TEXT = b"\x0a\x02\xff\xfe"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (None, "null"),
        (b"", "empty"),
        (b"\xff\xff\xff random \x00", "undecodable"),
        (b'{"amount": 1}', "undecodable"),
        (BROKEN_TEXT, "undecodable"),
        (ToolIntent(entity_key=b"acct-1", tool_name="charge"), "no_intent_id"),
        (ToolIntent(intent_id="i" * 257, tool_name="charge"), "bad_intent_id"),
        (ToolIntent(intent_id="i\n", tool_name="charge"), "bad_intent_id"),
    ],
)
async def test_a_record_that_is_no_intent_is_dead_lettered_and_the_next_one_runs(
    record: ToolIntent | bytes | None, reason: str
) -> None:
    async with EffectorHarness(TOOLS) as effector:
        await effector.deliver(record, key=b"raw key", headers=(("trace", b"\x01"),))
        await effector.deliver(request())
        await effector.settle()
        (letter,) = effector.dead_letters
        assert (letter.key, letter.reason) == (b"raw key", reason)
        assert letter.value == (
            record.SerializeToString() if isinstance(record, ToolIntent) else record
        )
        assert (letter.headers, letter.partition, letter.offset) == (
            (("trace", b"\x01"),),
            "intents/0",
            0,
        )
        assert [result.status for result in effector.results] == [Status.OK]
        assert effector.committed() == 2


async def test_a_record_of_another_type_is_not_read_as_an_intent() -> None:
    async with EffectorHarness(TOOLS) as effector:
        await effector.deliver(request(), headers=(("beam-agents-type", b"ToolResult"),))
        await effector.settle()
        assert [letter.reason for letter in effector.dead_letters] == ["wrong_type"]
        assert effector.calls("charge") == 0


async def test_without_a_dead_letter_topic_the_record_is_logged_and_committed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with EffectorHarness(TOOLS, dead_letters_to=None) as effector:
        await effector.deliver(b"\xff" * 10_000, key=b"raw key")
        await effector.settle()
        assert effector.committed() == 1
    (record,) = [each for each in caplog.records if "dead letter" in each.message]
    assert "raw key" in record.message
    assert "of 10000 bytes" in record.message


async def test_a_null_key_and_an_empty_one_are_told_apart_in_a_dead_letter() -> None:
    async with EffectorHarness(TOOLS) as effector:
        await effector.deliver(b"?", key=None)
        await effector.deliver(b"?", key=b"")
        await effector.settle()
        assert [letter.key for letter in effector.dead_letters] == [None, b""]


@pytest.mark.parametrize(
    ("intent", "message"),
    [
        (request("nobody_knows"), "unknown tool 'nobody_knows'"),
        (request("look_up", {"name": "x"}), "has no side effect"),
        (request(args={"amount": "5"}), "$.amount"),
        (request(args={"amount": 5, "more": 1}), "more"),
        (request(kind=7), "unknown kind"),
        (request(kind=ToolIntent.APPROVAL), "no approvals topic"),
    ],
)
async def test_an_intent_that_cannot_be_performed_is_rejected_and_the_next_one_runs(
    intent: ToolIntent, message: str
) -> None:
    async with EffectorHarness(TOOLS, approvals_to=None) as effector:
        await effector.deliver(intent)
        await effector.deliver(request(seq=1))
        await effector.settle()
        rejected, ok = effector.results
        assert (rejected.status, rejected.outcome) == (Status.REJECTED, Outcome.NOT_APPLIED)
        assert message in rejected.error_message
        assert (ok.status, ok.seq) == (Status.OK, 1)
        assert effector.calls("look_up") == 0
        assert effector.committed() == 2


async def test_arguments_that_do_not_parse_are_rejected() -> None:
    intent = request()
    intent.args_json = '{"amount": 1, "amount": 2}'
    async with EffectorHarness(TOOLS) as effector:
        await effector.deliver(intent)
        await effector.settle()
        assert [result.status for result in effector.results] == [Status.REJECTED]
        assert effector.calls("charge") == 0


async def test_a_refused_tool_is_rejected_until_the_operator_lets_it_run() -> None:
    refused = {"charge"}
    async with EffectorHarness(TOOLS, refuse_tools=lambda: refused) as effector:
        await effector.deliver(request())
        await effector.settle()
        refused.clear()
        await effector.deliver(request(seq=1))
        await effector.settle()
        assert [result.status for result in effector.results] == [Status.REJECTED, Status.OK]


async def test_an_unknown_tool_is_waited_for_until_a_release_knows_it() -> None:
    async with EffectorHarness(ToolRegistry(), unknown_tool="wait") as old:
        await old.deliver(request())
        await old.deliver(request(seq=1))
        await old.advance(10_000)
        assert (old.results, old.committed()) == ([], 0)
        old.registry = TOOLS
        await old.restart()
        assert [result.seq for result in old.results] == [0, 1]


async def test_an_unknown_tool_is_waited_for_no_longer_than_its_deadline() -> None:
    async with EffectorHarness(ToolRegistry(), unknown_tool="wait") as effector:
        await effector.deliver(request(ttl_ms=5_000))
        await effector.advance(40_000)
        (result,) = effector.results
        assert (result.status, result.outcome) == (Status.EXPIRED, Outcome.UNKNOWN)


@pytest.mark.parametrize(("digest", "waits"), [(b"", False), (b"\x01" * 32, True)])
async def test_wrong_arguments_are_waited_for_only_if_the_agent_knew_another_schema(
    digest: bytes, waits: bool
) -> None:
    async with EffectorHarness(TOOLS, unknown_tool="wait") as effector:
        await effector.deliver(request(args={"amount": "5"}, schema_digest=digest))
        await effector.settle()
        assert [result.status for result in effector.results] == (
            [] if waits else [Status.REJECTED]
        )


async def test_every_result_answers_its_intent_and_names_its_request() -> None:
    intent = request(namespace="refunds", step_index=3)
    async with EffectorHarness(TOOLS) as effector:
        await effector.deliver(intent)
        await effector.settle()
        (record,) = effector.result_records
        assert record.key == intent.entity_key
        assert record.headers == (("beam-agents-type", b"ToolResult"),)
        result = ToolResult.FromString(record.value or b"")
        for name in ("intent_id", "entity_key", "seq", "step_index", "tool_name", "trace_id"):
            assert getattr(result, name) == getattr(intent, name)
        assert (result.namespace, result.attempt, len(result.fingerprint)) == ("refunds", 1, 32)
