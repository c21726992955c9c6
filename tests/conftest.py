"""What all tiers share: where the real servers are, and how hypothesis runs."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# A slow machine is no failure: no test of ours is judged by the clock.
settings.register_profile("beam-agents", deadline=None)
settings.load_profile("beam-agents")


@pytest.fixture(scope="session")
def redis_url() -> str:
    """A Redis server, such as `redis://127.0.0.1:16379/0`."""
    return _server("BEAM_AGENTS_TEST_REDIS")


@pytest.fixture(scope="session")
def kafka_hosts() -> str:
    """Kafka brokers, such as `127.0.0.1:19092`."""
    return _server("BEAM_AGENTS_TEST_KAFKA")


@pytest.fixture(scope="session")
def pubsub_emulator() -> str:
    """A Pub/Sub emulator, such as `127.0.0.1:18085`."""
    return _server("BEAM_AGENTS_TEST_PUBSUB")


@pytest.fixture(scope="session")
def bigtable_emulator() -> str:
    """A Bigtable emulator, such as `127.0.0.1:18086`."""
    return _server("BEAM_AGENTS_TEST_BIGTABLE")


@pytest.fixture(scope="session")
def prism_endpoint() -> str:
    """Prism's job service, such as `127.0.0.1:18073`."""
    return _server("BEAM_AGENTS_TEST_PRISM")


def _server(variable: str) -> str:
    """Read where a server is. Without one a test is skipped, unless servers are required."""
    if address := os.environ.get(variable):
        return address
    if os.environ.get("BEAM_AGENTS_REQUIRE_SERVERS") == "1":
        pytest.fail(f"{variable} names no server, and BEAM_AGENTS_REQUIRE_SERVERS=1 asks for one")
    pytest.skip(f"{variable} names no server")
