from __future__ import annotations

import pytest

from beam_agents.effector.environment import unknown_variables
from beam_agents.effector.settings import SETTINGS


def unknown(**environ: str) -> list[str]:
    return list(unknown_variables(SETTINGS, environ))


def test_a_variable_that_is_no_setting_is_named_with_the_closest_one() -> None:
    assert unknown(EFFECTOR_LEASE="30000") == [
        "EFFECTOR_LEASE: no such setting; did you mean EFFECTOR_LEASE_MS?"
    ]


def test_variables_of_others_are_left_alone() -> None:
    assert unknown(PATH="/bin", EFFECTORS="1", MY_EFFECTOR_LEASE="1") == []


def test_only_secrets_may_be_given_as_files() -> None:
    assert unknown(EFFECTOR_REDIS_PASSWORD_FILE="/run/secrets/redis") == []
    assert unknown(EFFECTOR_DEDUP_FILE="/run/secrets/dedup") != []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EFFECTOR_SERVICE_HOST", "10.0.0.1"),
        ("EFFECTOR_SERVICE_PORT", "8080"),
        ("EFFECTOR_SERVICE_PORT_HTTP", "8080"),
        ("EFFECTOR_PORT", "tcp://10.0.0.1:8080"),
        ("EFFECTOR_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
        ("EFFECTOR_PORT_8080_TCP_PROTO", "tcp"),
        ("EFFECTOR_PORT_8080_TCP_PORT", "8080"),
        ("EFFECTOR_PORT_8080_TCP_ADDR", "10.0.0.1"),
        ("EFFECTOR_METRICS_SERVICE_HOST", "10.0.0.1"),
    ],
)
def test_what_kubernetes_sets_for_a_service_of_that_name_is_allowed(name: str, value: str) -> None:
    assert unknown(**{name: value}) == []


@pytest.mark.parametrize("name", ["EFFECTOR_PORT", "EFFECTOR_HTTP_PORT", "EFFECTOR_PORT_HTTP"])
def test_a_port_that_someone_guessed_is_refused(name: str) -> None:
    assert len(unknown(**{name: "8080"})) == 1
