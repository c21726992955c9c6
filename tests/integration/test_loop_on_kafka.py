"""The whole loop on a real Kafka and a real Redis, its pipeline killed again and again.

The story is played once; each test judges what it left behind.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter, defaultdict
from pathlib import Path
from uuid import uuid4

import pytest

from beam_agents.intents.fingerprint import fingerprint
from tests.integration.charging import KEYS, Charging, Evidence

pytestmark = pytest.mark.timeout(500)

ROUNDS = 6
EVENTS = KEYS * ROUNDS


async def play(story: Charging, state: Path) -> tuple[Evidence, int, int]:
    live = ("--state", str(state))
    async with story.begun():
        await story.publish(ROUNDS // 2)
        with story.pipeline(*live) as pipeline:
            await story.until_completed(EVENTS // 6)
            pipeline.kill()
        await story.publish(ROUNDS - ROUNDS // 2)
        with story.pipeline(*live) as pipeline:
            await story.until_completed(EVENTS // 2)
            pipeline.kill()
        with story.pipeline(*live) as pipeline:
            await story.until_completed(EVENTS)
            await story.publish_in_a_hurry()
            await story.until_an_error()
            pipeline.send_signal(signal.SIGTERM)
            code = pipeline.wait(60)
        return await story.evidence(), code, await story.unread()


@pytest.fixture(scope="module")
def outcome(
    kafka_hosts: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Evidence, int, int]:
    folder = tmp_path_factory.mktemp("loop")

    async def tell() -> tuple[Evidence, int, int]:
        run = f"loop-{uuid4().hex}"
        story = Charging(hosts=kafka_hosts, redis_url=redis_url, folder=folder, run=run)
        return await play(story, folder / "state.sqlite")

    return asyncio.run(tell())


@pytest.fixture(scope="module")
def evidence(outcome: tuple[Evidence, int, int]) -> Evidence:
    return outcome[0]


def test_every_event_is_completed_by_one_activation(evidence: Evidence) -> None:
    completed = evidence.events_completed()

    assert set(completed) == set(evidence.events)
    assert Counter(map(len, completed.values())) == {1: EVENTS}


def test_the_activations_of_a_key_are_numbered_without_a_gap(evidence: Evidence) -> None:
    seqs = defaultdict(list)
    for ((key, seq),) in evidence.events_completed().values():
        seqs[key].append(seq)

    assert {tuple(sorted(each)) for each in seqs.values()} == {tuple(range(ROUNDS))}


def test_every_event_is_charged_once(evidence: Evidence) -> None:
    assert sorted(evidence.charges.values()) == sorted(evidence.events.values())


def test_no_call_is_made_twice_though_intents_are_written_twice(evidence: Evidence) -> None:
    calls = Counter(call.intent_id for call in evidence.calls)

    assert set(calls.values()) == {1}
    assert len(evidence.intents) >= len(calls)


def test_an_intent_that_is_written_again_is_the_same(evidence: Evidence) -> None:
    variants = defaultdict(set)
    for intent in evidence.intents:
        variants[intent.intent_id].add(fingerprint(intent))

    assert Counter(map(len, variants.values())) == {1: EVENTS + 1}


def test_a_suspension_times_out_on_quiet_topics(evidence: Evidence) -> None:
    assert {(each.reason, each.entity_key) for each in evidence.errors} == {
        ("suspension_timeout", b"account-hurry")
    }


def test_a_pipeline_that_is_asked_to_stop_has_told_its_group_how_far_it_got(
    outcome: tuple[Evidence, int, int],
) -> None:
    _, code, unread = outcome

    assert (code, unread) == (0, 0)
