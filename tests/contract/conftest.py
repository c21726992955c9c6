"""Where the contract tier finds its servers, and what it does without one."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

# The suites ship in the effector; pytest is to explain their asserts as well.
pytest.register_assert_rewrite("beam_agents.effector.testing")

# A fixture that needs a server, and the variable that names it. Without the variable its
# tests are skipped, except where BEAM_AGENTS_REQUIRE_SERVERS=1 makes that a failure.
SERVERS = {"redis_url": "BEAM_AGENTS_TEST_REDIS", "kafka_hosts": "BEAM_AGENTS_TEST_KAFKA"}


@pytest.fixture(scope="session")
def redis_url() -> str:
    """A Redis server, such as `redis://127.0.0.1:16379/0`."""
    return _server("redis_url")


@pytest.fixture(scope="session")
def kafka_hosts() -> str:
    """Kafka brokers, such as `127.0.0.1:19092`."""
    return _server("kafka_hosts")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    if os.environ.get("BEAM_AGENTS_REQUIRE_SERVERS") == "1":
        return
    for fixture, variable in SERVERS.items():
        if not os.environ.get(variable):
            absent = pytest.mark.skip(reason=f"{variable} names no server")
            for item in items:
                if fixture in getattr(item, "fixturenames", ()):
                    item.add_marker(absent)


def _server(fixture: str) -> str:
    variable = SERVERS[fixture]
    url = os.environ.get(variable)
    if not url:
        pytest.fail(f"{variable} names no server, and BEAM_AGENTS_REQUIRE_SERVERS=1 asks for one")
    return url
