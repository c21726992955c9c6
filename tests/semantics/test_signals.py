"""SIGKILL, SIGTERM and SIGSTOP at every phase, on sqlite: needs no server."""

from __future__ import annotations

import pytest

from beam_agents.effector.phase import Phase
from tests.semantics.signal_story import SignalContract, Story, played

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[Phase, str], Story]:
    return played(tmp_path_factory.mktemp("signals"), "sqlite:///dedup.db")


class TestSignalsOnSqlite(SignalContract):
    """Real signals at every phase, with sqlite as the store."""
