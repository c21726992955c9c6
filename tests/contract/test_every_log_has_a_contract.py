"""No source, sink or browser ships without having passed the contract."""

from __future__ import annotations

from importlib import import_module

import pytest

from beam_agents.effector.schemes import BROWSERS, SINKS, SOURCES
from beam_agents.effector.testing.log_contract import (
    BrowserContract,
    SinkContract,
    SourceContract,
)

LOGS = sorted({"memory", *SOURCES, *SINKS})


@pytest.mark.parametrize(
    ("log", "contract"),
    [(log, contract) for log in LOGS for contract in (SourceContract, SinkContract)]
    + [(log, BrowserContract) for log in sorted(BROWSERS)],
)
def test_a_log_runs_the_whole_contract(log: str, contract: type) -> None:
    """A scheme `x://` needs `tests/contract/test_x_log.py` with a test class of each."""
    tests = vars(import_module(f"tests.contract.test_{log}_log"))

    collected = [value for name, value in tests.items() if name.startswith("Test")]

    assert any(issubclass(test, contract) for test in collected)
