"""SIGKILL, SIGTERM and SIGSTOP at every phase, with the claims in a real Redis."""

from __future__ import annotations

import pytest

from beam_agents.effector.phase import Phase
from tests.semantics.signal_story import SignalContract, Story, played

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def stories(
    redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[Phase, str], Story]:
    return played(tmp_path_factory.mktemp("signals"), redis_url)


class TestSignalsOnRedis(SignalContract):
    """Real signals at every phase, with Redis as the store."""
