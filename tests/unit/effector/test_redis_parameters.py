"""The query of a Redis URI."""

from __future__ import annotations

import pytest

from beam_agents.effector.backends.redis_parameters import RedisParameters
from beam_agents.effector.schemes import store_mistake


def test_a_plain_uri_asks_for_nothing() -> None:
    assert RedisParameters.of("redis://host:6379/0") == RedisParameters()


def test_a_cluster_and_replicas_are_asked_for() -> None:
    parameters = RedisParameters.of("rediss://host?cluster=true&wait_replicas=2")

    assert parameters == RedisParameters(cluster=True, wait_replicas=2)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("wait_replica=1", "unknown parameter 'wait_replica'"),
        ("wait_replicas=-1", "wait_replicas must be a whole number, not '-1'"),
        ("wait_replicas=²", "wait_replicas must be a whole number"),
        ("wait_replicas=", "wait_replicas must be a whole number"),
        ("cluster=yes", "cluster must be true or false, not 'yes'"),
    ],
)
def test_a_parameter_that_is_none_is_a_mistake_of_the_setting(query: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        RedisParameters.of(f"redis://host?{query}")

    mistake = store_mistake(f"redis://host?{query}")

    assert mistake is not None
    assert told in mistake
