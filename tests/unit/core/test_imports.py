"""What can be imported without paying for Beam."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "beam_agents",
        "beam_agents.core.agent",
        "beam_agents.core.context",
        "beam_agents.core.activation",
        "beam_agents.core.testing",
        "beam_agents.model.fake",
    ],
)
def test_the_engine_imports_no_beam(module: str) -> None:
    program = f"import sys, {module}; sys.exit('apache_beam' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_front_door_offers_what_an_agent_needs() -> None:
    import beam_agents

    for name in beam_agents.__all__:
        assert getattr(beam_agents, name).__name__ == name
