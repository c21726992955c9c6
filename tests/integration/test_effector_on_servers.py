"""1,000 intents of 200 keys on a real Kafka and a real Redis, through a SIGKILL and a SIGTERM.

The story is played once; each test judges what it left behind.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from uuid import uuid4

import pytest

from beam_agents._protos import ToolResult
from beam_agents.intents.fingerprint import fingerprint
from beam_agents.intents.topics import TYPE_HEADER
from tests.integration.takeover import KEYS, ROUNDS, Evidence, Takeover

pytestmark = pytest.mark.timeout(500)


@pytest.fixture(scope="module")
def evidence(
    kafka_hosts: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Evidence:
    story = Takeover(
        hosts=kafka_hosts,
        redis_url=redis_url,
        folder=tmp_path_factory.mktemp("takeover"),
        run=f"takeover-{uuid4().hex}",
    )
    return asyncio.run(story.play())


@pytest.fixture(scope="module")
def results(evidence: Evidence) -> list[ToolResult]:
    return [ToolResult.FromString(record.value) for record in evidence.records]


def test_no_intent_is_lost(evidence: Evidence, results: list[ToolResult]) -> None:
    assert len(evidence.intents) == KEYS * ROUNDS
    assert {result.intent_id for result in results} == set(evidence.intents)


def test_every_intent_succeeded(results: list[ToolResult]) -> None:
    assert Counter(result.status for result in results) == {ToolResult.OK: len(results)}


def test_all_copies_of_a_result_are_byte_identical(evidence: Evidence) -> None:
    copies = defaultdict(set)
    for record in evidence.records:
        copies[ToolResult.FromString(record.value).intent_id].add(record.value)

    assert Counter(map(len, copies.values())) == {1: len(evidence.intents)}


def test_a_result_answers_its_intent_under_its_key(
    evidence: Evidence, results: list[ToolResult]
) -> None:
    for record, result in zip(evidence.records, results, strict=True):
        intent = evidence.intents[result.intent_id]
        assert record.key == result.entity_key == intent.entity_key
        assert result.fingerprint == fingerprint(intent)
        assert dict(record.headers)[TYPE_HEADER] == b"ToolResult"


def test_every_charge_was_made_once_and_as_asked(evidence: Evidence) -> None:
    assert evidence.charges == {
        intent.intent_id: json.loads(intent.args_json)["amount"]
        for intent in evidence.intents.values()
    }


def test_only_calls_that_the_killed_effector_was_in_came_twice(evidence: Evidence) -> None:
    calls = defaultdict(list)
    for call in evidence.calls:
        calls[call.intent_id].append(call)
    repeated = {intent_id: each for intent_id, each in calls.items() if len(each) > 1}
    pid, intent_id = evidence.killed

    assert intent_id in repeated
    for first, *again in repeated.values():
        assert first.pid == pid
        assert [call.attempt for call in again] == [first.attempt + 1]


def test_calls_of_one_key_come_in_the_order_of_its_intents(evidence: Evidence) -> None:
    seqs = defaultdict(list)
    for call in evidence.calls:
        seqs[call.entity_key].append(call.seq)

    assert len(seqs) == KEYS
    assert [each for each in seqs.values() if each != sorted(each)] == []


def test_a_stopped_effector_finishes_the_call_that_it_is_in(evidence: Evidence) -> None:
    calls = [call for call in evidence.calls if call.intent_id == evidence.stopped_in]

    assert [call.attempt for call in calls] == [1]


def test_a_stopped_effector_exits_with_success(evidence: Evidence) -> None:
    assert evidence.exit_codes == [0, 0]


def test_all_three_effectors_worked(evidence: Evidence) -> None:
    assert len({call.pid for call in evidence.calls}) == 3


def test_everything_is_committed_in_the_end(evidence: Evidence) -> None:
    assert evidence.uncommitted == 0
