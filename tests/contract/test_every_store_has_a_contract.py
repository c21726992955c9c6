"""No dedup store ships without having passed the contract."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

from beam_agents.effector import backends
from beam_agents.effector.testing.store_contract import DedupStoreContract

MODULES = [module.name for module in iter_modules(backends.__path__)]
STORES = [name for name in MODULES if name.endswith("_store")]


@pytest.mark.parametrize("store", STORES)
def test_a_store_runs_the_whole_contract(store: str) -> None:
    """`backends/x_store.py` needs `tests/contract/test_x_store.py` with a test class of it."""
    tests = vars(import_module(f"tests.contract.test_{store}"))

    collected = [value for name, value in tests.items() if name.startswith("Test")]

    assert any(issubclass(test, DedupStoreContract) for test in collected)


def test_the_stores_are_found() -> None:
    assert {"memory_store", "sqlite_store", "redis_store", "bigtable_store"} <= set(STORES)
