"""2,000 intents of 100 keys, while three effectors and their servers are hurt: audited.

The seed is printed; `BEAM_AGENTS_CHAOS_SEED` plays one again, `BEAM_AGENTS_CHAOS_SEEDS` plays
so many, one after the other (`make chaos SEEDS=5`).
"""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from tests.integration.chaos import Chaos

ROUNDS = 20


def _seeds() -> list[int]:
    if chosen := os.environ.get("BEAM_AGENTS_CHAOS_SEED"):
        return [int(chosen)]
    count = int(os.environ.get("BEAM_AGENTS_CHAOS_SEEDS") or 1)
    return [random.SystemRandom().randrange(10**6) for _ in range(count)]


@pytest.fixture(autouse=True)
def servers_may_be_started() -> None:
    """The story starts servers of its own, to kill them."""
    if os.environ.get("BEAM_AGENTS_REQUIRE_SERVERS") != "1":
        pytest.skip("BEAM_AGENTS_REQUIRE_SERVERS=1 does not ask for servers")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", _seeds())
def test_every_guarantee_is_kept_while_workers_and_servers_are_hurt(
    seed: int, tmp_path: Path
) -> None:
    judged = asyncio.run(Chaos(tmp_path, seed=seed, rounds=ROUNDS).play())

    print(judged.told)  # noqa: T201
    assert judged.exit_code == 0, f"seed {seed}:\n{judged.told}"
    assert "not judged" not in judged.told
    assert judged.payments == judged.intents == 2_000
    assert set(judged.exit_codes) == {0}
