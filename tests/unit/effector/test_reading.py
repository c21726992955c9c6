from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import beam_agents.effector.settings as settings_module
from beam_agents.effector.errors import SettingsError
from beam_agents.effector.reading import read_settings
from beam_agents.effector.settings import SETTINGS, Settings

REQUIRED = {
    "registry": "myapp.agent:TOOLS",
    "intents_from": "kafka://broker:9092/intents",
    "results_to": "kafka://broker:9092/results",
    "dedup": "redis://redis:6379",
}


def mistakes(
    given: Mapping[str, object], environ: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as raised:
        read_settings(given, environ or {})
    return raised.value.mistakes


def test_the_defaults_are_those_of_the_design() -> None:
    settings = read_settings(REQUIRED, {})

    assert settings.consumer_group == "beam-agents-effector"
    assert settings.verify_intents == "off"
    assert settings.lease_ms == 30_000
    assert settings.tool_timeout_ms == 20_000
    assert settings.result_ttl_ms == 86_400_000
    assert settings.shutdown_grace_ms == 25_000
    assert settings.max_in_flight == 1_000
    assert settings.max_waiting == 1_000
    assert settings.max_result_bytes == 900_000
    assert settings.sync_threads == 32


def test_every_setting_can_come_from_the_environment() -> None:
    environ = {
        "EFFECTOR_REGISTRY": "myapp:TOOLS",
        "EFFECTOR_INTENTS_FROM": "kafka://broker:9092/intents",
        "EFFECTOR_RESULTS_TO": "kafka://broker:9092/results",
        "EFFECTOR_DEDUP": "redis://redis",
        "EFFECTOR_LEASE_MS": "60000",
        "EFFECTOR_NO_LEASE_RENEWAL": "true",
        "EFFECTOR_UNKNOWN_TOOL": "wait",
    }

    settings = read_settings({}, environ)

    assert settings.registry == "myapp:TOOLS"
    assert settings.lease_ms == 60_000
    assert settings.no_lease_renewal is True
    assert settings.unknown_tool == "wait"


def test_the_command_line_wins_over_the_environment() -> None:
    settings = read_settings({**REQUIRED, "lease_ms": "40000"}, {"EFFECTOR_LEASE_MS": "50000"})

    assert settings.lease_ms == 40_000


def test_each_required_setting_that_is_missing_is_named_with_its_variable() -> None:
    assert mistakes({}) == (
        "--registry (or EFFECTOR_REGISTRY) is missing",
        "--intents-from (or EFFECTOR_INTENTS_FROM) is missing",
        "--results-to (or EFFECTOR_RESULTS_TO) is missing",
        "--dedup (or EFFECTOR_DEDUP) is missing",
    )


def test_all_mistakes_are_reported_at_once() -> None:
    found = mistakes(
        {**REQUIRED, "dedup": "postgres://db", "lease_ms": "soon", "verify_intents": "maybe"},
        {"EFFECTOR_MAX_WAITING": "0", "EFFECTOR_NO_SUCH": "1"},
    )

    assert [mistake.partition(":")[0] for mistake in found] == [
        "EFFECTOR_NO_SUCH",
        "--dedup",
        "--verify-intents",
        "--lease-ms",
        "EFFECTOR_MAX_WAITING",
    ]


def test_a_mistake_names_where_the_value_came_from_and_what_is_allowed() -> None:
    [from_option] = mistakes({**REQUIRED, "log_format": "xml"})
    [from_environment] = mistakes(REQUIRED, {"EFFECTOR_SYNC_THREADS": "many"})

    assert from_option == "--log-format: 'xml': input should be 'text' or 'json'"
    assert from_environment.startswith("EFFECTOR_SYNC_THREADS: 'many': input should be a valid int")


def test_an_empty_value_is_a_mistake_and_not_the_default() -> None:
    [mistake] = mistakes(REQUIRED, {"EFFECTOR_VERIFY_INTENTS": ""})

    assert mistake == "EFFECTOR_VERIFY_INTENTS is empty: give it a value, or leave it out"


@pytest.mark.parametrize("path", ["myapp", "myapp:", ":TOOLS"])
def test_a_registry_path_without_module_or_attribute_is_refused(path: str) -> None:
    [mistake] = mistakes({**REQUIRED, "registry": path})

    assert mistake == f"--registry: {path!r} is not of the form module:attribute"


@pytest.mark.parametrize("path", ["./tools.py:TOOLS", "app/tools.py:TOOLS", "tools.py:TOOLS"])
def test_a_registry_that_is_named_by_its_file_is_told_its_module(path: str) -> None:
    [mistake] = mistakes({**REQUIRED, "registry": path})

    assert mistake.startswith(f"--registry: {path!r} names a file: give its module, 'tools:TOOLS'")


def test_a_secret_may_be_the_content_of_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("s3cret\n")

    settings = read_settings(REQUIRED, {"EFFECTOR_REDIS_PASSWORD_FILE": str(secret)})

    assert settings.redis_password == "s3cret"


def test_a_secret_given_twice_is_a_mistake(tmp_path: Path) -> None:
    environ = {
        "EFFECTOR_REDIS_PASSWORD": "s3cret",
        "EFFECTOR_REDIS_PASSWORD_FILE": str(tmp_path / "password"),
    }

    [mistake] = mistakes(REQUIRED, environ)

    assert mistake == "set EFFECTOR_REDIS_PASSWORD or EFFECTOR_REDIS_PASSWORD_FILE, not both"


def test_a_secret_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")

    [mistake] = mistakes(REQUIRED, {"EFFECTOR_REDIS_PASSWORD_FILE": missing})

    assert mistake == (
        f"EFFECTOR_REDIS_PASSWORD_FILE: cannot read {missing!r}: No such file or directory"
    )


def test_no_secret_is_ever_printed() -> None:
    environ = {
        "EFFECTOR_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "EFFECTOR_KAFKA_USERNAME": "alice",
        "EFFECTOR_KAFKA_PASSWORD": "s3cret-1",
        "EFFECTOR_REDIS_PASSWORD": "s3cret-2",
    }
    settings = read_settings({**REQUIRED, "dedup": "redis://bob:s3cret-3@redis"}, environ)

    printed = repr(settings) + repr(settings.connections())

    assert "s3cret" not in printed
    assert "alice" in printed


def test_no_secret_is_printed_with_a_mistake() -> None:
    found = mistakes({**REQUIRED, "dedup": "foo://bob:s3cret@redis", "lease_ms": "x://u:s3cret@h"})

    assert len(found) == 2
    assert "s3cret" not in "".join(found)


def test_secrets_have_no_command_line_option() -> None:
    assert [setting.name for setting in SETTINGS if setting.option.secret] == [
        "kafka_password",
        "redis_password",
    ]
    assert all(setting.option.env_only for setting in SETTINGS if setting.option.secret)


def test_servers_get_their_security_from_the_environment() -> None:
    environ = {
        "EFFECTOR_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "EFFECTOR_KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
        "EFFECTOR_KAFKA_USERNAME": "alice",
        "EFFECTOR_KAFKA_PASSWORD": "s3cret",
        "EFFECTOR_KAFKA_CA_FILE": "/ca.pem",
        "EFFECTOR_REDIS_USERNAME": "bob",
    }

    connections = read_settings(REQUIRED, environ).connections()

    assert connections.kafka.mechanism == "SCRAM-SHA-512"
    assert connections.kafka.password == "s3cret"
    assert connections.kafka.ca_file == "/ca.pem"
    assert connections.redis_username == "bob"


def test_every_setting_explains_itself() -> None:
    assert {setting.name for setting in SETTINGS} == set(Settings.__annotations__)
    for setting in SETTINGS:
        assert setting.option.help.endswith("."), setting.name


def test_what_is_not_text_is_refused() -> None:
    (mistake,) = mistakes({**REQUIRED, "consumer_group": "a\udcff"})

    assert mistake == "--consumer-group is not UTF-8 text"


def test_a_number_without_measure_is_refused() -> None:
    (mistake,) = mistakes({**REQUIRED, "lease_ms": "9" * 30})

    assert mistake.startswith("--lease-ms: ")


def test_a_port_that_cannot_be_is_refused() -> None:
    (mistake,) = mistakes({**REQUIRED, "intents_from": "kafka://broker:99999/intents"})

    assert "kafka://broker:99999/intents" in mistake


def test_tracing_names_the_extra_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_module, "is_installed", lambda _: False)

    assert mistakes({**REQUIRED, "otel": True}) == (
        "--otel: needs the extra 'otel': pip install 'beam-agents-effector[otel]'",
    )
    assert read_settings({**REQUIRED, "otel": False}, {}).otel is False
