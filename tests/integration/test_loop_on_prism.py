"""The whole loop on a real Kafka and a real Redis, its pipeline on Prism."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from uuid import uuid4

import pytest

from tests.integration.charging import KEYS, Charging, Evidence

pytestmark = pytest.mark.timeout(500)

ROUNDS = 5


@pytest.fixture(scope="module")
def prism() -> str:
    endpoint = os.environ.get("BEAM_AGENTS_TEST_PRISM")
    if not endpoint:
        pytest.skip("BEAM_AGENTS_TEST_PRISM names no Prism: `make test-prism` does")
    return endpoint


async def play(story: Charging, prism: str) -> Evidence:
    options = ["--runner=PortableRunner", f"--job_endpoint={prism}", "--streaming"]
    async with story.begun():
        await story.publish(ROUNDS - 1)
        with story.pipeline(*options, "--environment_type=LOOPBACK"):
            await story.until_completed(KEYS * (ROUNDS - 1))
            await story.publish(1)
            await story.until_completed(KEYS * ROUNDS)
            await story.publish_in_a_hurry()
            await story.until_an_error()
        return await story.evidence()


@pytest.fixture(scope="module")
def evidence(
    kafka_hosts: str, redis_url: str, prism: str, tmp_path_factory: pytest.TempPathFactory
) -> Evidence:
    folder = tmp_path_factory.mktemp("loop")

    async def tell() -> Evidence:
        run = f"prism-{uuid4().hex}"
        return await play(
            Charging(hosts=kafka_hosts, redis_url=redis_url, folder=folder, run=run), prism
        )

    return asyncio.run(tell())


def test_every_event_is_completed_and_charged_once(evidence: Evidence) -> None:
    completed = evidence.events_completed()

    assert set(completed) == set(evidence.events)
    assert Counter(map(len, completed.values())) == {1: KEYS * ROUNDS}
    assert sorted(evidence.charges.values()) == sorted(evidence.events.values())


def test_a_suspension_times_out_on_quiet_topics(evidence: Evidence) -> None:
    assert {(each.reason, each.entity_key) for each in evidence.errors} == {
        ("suspension_timeout", b"account-hurry")
    }
