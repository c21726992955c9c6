"""300 intents of 60 keys on each pair of a real log and a real store, through a SIGKILL.

The story is played once for each pair; each test judges what it left behind.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.intents import build_intent
from beam_agents.intents.fingerprint import fingerprint
from tests.integration.charges import LEDGER_VARIABLE, Call, Ledger
from tests.integration.effectors import Effectors
from tests.integration.wirings import (
    Answer,
    KafkaLog,
    Log,
    PubsubLog,
    SqliteLog,
    Store,
    bigtable_store,
    redis_store,
    sqlite_store,
)

pytestmark = pytest.mark.timeout(300)

KEYS, ROUNDS = 60, 5
# Which calls are held in the tool until their effector is killed.
HELD_KEYS, HELD_ROUND = range(10), 1
BEHIND_HELD = len(HELD_KEYS) * (ROUNDS - 1 - HELD_ROUND)
WIRINGS = ["pubsub+bigtable", "kafka+bigtable", "pubsub+redis", "sqlite+sqlite"]


@dataclass(frozen=True)
class Evidence:
    """What the story left behind.

    Attributes:
        intents: All that were asked, by id.
        answers: The results topic, read to its end.
        calls: Every call that the ledger received, in order.
        charges: What the ledger charged, in cents by intent id.
        killed: The pid of the effector that was killed.
        held: The intents that it was in.
        exit_code: Of its successor, which was stopped in the end.
    """

    intents: dict[str, ToolIntent]
    answers: list[Answer]
    calls: list[Call]
    charges: dict[str, int]
    killed: int
    held: list[str]
    exit_code: int

    @property
    def results(self) -> list[ToolResult]:
        return [ToolResult.FromString(answer.value) for answer in self.answers]


@pytest.fixture(scope="module", params=WIRINGS)
def evidence(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    folder = tmp_path_factory.mktemp("wiring")
    run = f"wiring-{uuid4().hex}"
    server = request.getfixturevalue
    logs: dict[str, Callable[[], Log]] = {
        "kafka": lambda: KafkaLog(server("kafka_hosts"), run),
        "pubsub": lambda: PubsubLog(server("pubsub_emulator"), run),
        "sqlite": lambda: SqliteLog(folder),
    }
    stores: dict[str, Callable[[], Store]] = {
        "bigtable": lambda: bigtable_store(server("bigtable_emulator"), run),
        "redis": lambda: redis_store(server("redis_url")),
        "sqlite": lambda: sqlite_store(folder),
    }
    log, _, store = request.param.partition("+")

    async def play() -> Evidence:  # some clients are made on the loop that they will run on
        return await _play(logs[log](), stores[store](), folder, run)

    return asyncio.run(play())


async def _play(log: Log, store: Store, folder: Path, run: str) -> Evidence:
    """Kill an effector in ten calls, and let another one finish everything."""
    ledger = Ledger(folder / "ledger.sqlite")
    rounds = [[_intent(run, key, seq) for key in range(KEYS)] for seq in range(ROUNDS)]
    held = [rounds[HELD_ROUND][key].intent_id for key in HELD_KEYS]
    await log.create()
    settings = {
        "EFFECTOR_REGISTRY": "tests.integration.charges:TOOLS",
        "EFFECTOR_INTENTS_FROM": log.intents_from,
        "EFFECTOR_RESULTS_TO": log.results_to,
        "EFFECTOR_DEDUP": store.uri,
        "EFFECTOR_LEASE_MS": "6000",
        # Longer than any wait here: a held call ends by its gate, never by the clock.
        "EFFECTOR_TOOL_TIMEOUT_MS": "300000",
        LEDGER_VARIABLE: str(ledger.path),
        **log.environment,
        **store.environment,
    }
    with Effectors(settings, logs=folder) as effectors:
        victim = effectors.start()
        await log.ask(_records(rounds))
        await effectors.until(
            "every call was made that waits for no held one",
            lambda: len(ledger.calls()) == KEYS * ROUNDS - BEHIND_HELD,
        )
        victim.kill()
        successor = effectors.start()
        for intent_id in held:
            ledger.open_gate(intent_id)
        await effectors.until("every intent has a result", partial(_all_answered, log))
        code = await effectors.stop(successor)
    answers = await log.answers()
    await log.aclose()
    return Evidence(
        intents={intent.intent_id: intent for each in rounds for intent in each},
        answers=answers,
        calls=ledger.calls(),
        charges=ledger.charges(),
        killed=victim.pid,
        held=held,
        exit_code=code,
    )


async def _all_answered(log: Log) -> bool:
    ids = {ToolResult.FromString(each.value).intent_id for each in await log.answers()}
    return len(ids) >= KEYS * ROUNDS


def _records(rounds: Iterable[Iterable[ToolIntent]]) -> list[tuple[bytes, bytes]]:
    stream = [intent for each in rounds for intent in each]
    return [(intent.entity_key, intent.SerializeToString()) for intent in stream]


def _intent(namespace: str, key: int, seq: int) -> ToolIntent:
    return build_intent(
        "payments.charge",
        {"amount": 100 * key + seq, "held": key in HELD_KEYS and seq == HELD_ROUND},
        entity_key=f"account-{key}".encode(),
        seq=seq,
        namespace=namespace,
        created_at_ms=time.time_ns() // 1_000_000,
    )


def test_every_intent_is_answered_and_succeeded(evidence: Evidence) -> None:
    statuses = {result.intent_id: result.status for result in evidence.results}

    assert statuses == dict.fromkeys(evidence.intents, ToolResult.OK)
    assert len(evidence.intents) == KEYS * ROUNDS


def test_all_copies_of_a_result_are_byte_identical(evidence: Evidence) -> None:
    copies = defaultdict(set)
    for answer in evidence.answers:
        copies[ToolResult.FromString(answer.value).intent_id].add(answer.value)

    assert Counter(map(len, copies.values())) == {1: len(evidence.intents)}


def test_a_result_answers_its_intent_under_its_key(evidence: Evidence) -> None:
    for answer, result in zip(evidence.answers, evidence.results, strict=True):
        intent = evidence.intents[result.intent_id]
        assert answer.key == result.entity_key == intent.entity_key
        assert result.fingerprint == fingerprint(intent)


def test_every_charge_was_made_once_and_as_asked(evidence: Evidence) -> None:
    assert evidence.charges == {
        intent.intent_id: json.loads(intent.args_json)["amount"]
        for intent in evidence.intents.values()
    }


def test_only_calls_that_the_killed_effector_was_in_came_twice(evidence: Evidence) -> None:
    calls = defaultdict(list)
    for call in evidence.calls:
        calls[call.intent_id].append(call)
    again = {intent_id: each for intent_id, each in calls.items() if len(each) > 1}

    assert set(again) >= set(evidence.held)  # and calls that had just returned
    assert all([call.attempt for call in each] == [1, 2] for each in again.values())
    assert {each[0].pid for each in again.values()} == {evidence.killed}


def test_calls_of_one_key_come_in_the_order_of_its_intents(evidence: Evidence) -> None:
    seqs = defaultdict(list)
    for call in evidence.calls:
        seqs[call.entity_key].append(call.seq)

    assert len(seqs) == KEYS
    assert [each for each in seqs.values() if each != sorted(each)] == []


def test_the_successor_is_stopped_with_success(evidence: Evidence) -> None:
    assert evidence.exit_code == 0
