"""The whole loop on a Kafka of its own, whose broker is killed and comes back."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest

from tests.integration.charging import KEYS, Charging
from tests.integration.private_servers import PrivateServers

pytestmark = pytest.mark.timeout(500)

ROUNDS = 4


async def test_a_broker_that_is_killed_costs_nothing_but_time(
    redis_url: str, tmp_path: Path
) -> None:
    servers = PrivateServers.on_free_ports(tmp_path / "servers")
    story = Charging(
        hosts=f"127.0.0.1:{servers.kafka_port}",
        redis_url=redis_url,
        folder=tmp_path,
        run=f"restart-{uuid4().hex}",
    )
    await servers.up("kafka")
    try:
        async with story.begun():
            await story.publish(ROUNDS - 1)
            with story.pipeline("--state", str(tmp_path / "state.sqlite")):
                await story.until_completed(KEYS)
                servers.kill("kafka")
                await servers.up("kafka")
                await story.publish(1)
                await story.until_completed(KEYS * ROUNDS)
            evidence = await story.evidence()
    finally:
        await servers.down()

    completed = evidence.events_completed()
    assert Counter(map(len, completed.values())) == {1: KEYS * ROUNDS}
    assert sorted(evidence.charges.values()) == sorted(evidence.events.values())
    assert evidence.errors == []
