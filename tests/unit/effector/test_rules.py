from __future__ import annotations

import pytest

from beam_agents.effector.rules import broken_rules
from beam_agents.effector.settings import SETTINGS

DEFAULTS = {setting.name: setting.default for setting in SETTINGS if not setting.required}


def broken(**values: object) -> list[str]:
    return list(broken_rules({**DEFAULTS, **values}))


def test_the_defaults_break_no_rule() -> None:
    assert broken() == []


def test_with_renewal_the_lease_must_outlast_three_store_calls() -> None:
    [mistake] = broken(lease_ms=4_499, max_clock_skew_ms=1_000)

    assert mistake.endswith("4499 < 3 * 1500 = 4500")
    assert broken(lease_ms=4_500, max_clock_skew_ms=1_000) == []


def test_the_lease_must_exceed_the_clock_skew_that_is_allowed() -> None:
    [mistake] = broken(lease_ms=30_000, max_clock_skew_ms=30_000)

    assert mistake.endswith("30000 <= 30000")
    assert broken(lease_ms=30_000, max_clock_skew_ms=29_999) == []


def test_a_rule_about_a_setting_that_could_not_be_read_is_left_out() -> None:
    values = {**DEFAULTS, "lease_ms": 1}
    del values["no_lease_renewal"], values["max_clock_skew_ms"]

    assert list(broken_rules(values)) == []


@pytest.mark.parametrize("mode", ["permissive", "require"])
def test_verification_needs_keys(mode: str) -> None:
    assert broken(verify_intents=mode) == [f"--verify-intents {mode} needs --signing-keys"]


def test_signing_needs_keys() -> None:
    assert broken(sign_results="k1") == ["--sign-results needs --signing-keys"]


def test_keys_that_nothing_uses_are_a_mistake() -> None:
    [mistake] = broken(signing_keys="env:KEYS")

    assert mistake.startswith("--signing-keys is given but nothing uses it")
    assert broken(signing_keys="env:KEYS", sign_results="k1") == []
    assert broken(signing_keys="env:KEYS", verify_intents="require") == []


def test_sasl_needs_a_name_and_a_password() -> None:
    [mistake] = broken(kafka_security_protocol="SASL_SSL", kafka_username="alice")

    assert mistake.endswith("SASL_SSL needs EFFECTOR_KAFKA_PASSWORD")


def test_a_password_that_is_not_sent_is_a_mistake() -> None:
    [mistake] = broken(kafka_password="s3cret")

    assert mistake.startswith("EFFECTOR_KAFKA_PASSWORD is given but not sent by PLAINTEXT")


def test_a_certificate_that_is_not_used_is_a_mistake() -> None:
    [mistake] = broken(kafka_ca_file="/ca.pem")

    assert mistake.startswith("EFFECTOR_KAFKA_CA_FILE is given but PLAINTEXT does not encrypt")


def test_a_private_key_needs_its_certificate() -> None:
    [mistake] = broken(kafka_security_protocol="SSL", kafka_key_file="/key.pem")

    assert mistake == "EFFECTOR_KAFKA_KEY_FILE needs EFFECTOR_KAFKA_CERT_FILE"


def test_each_topic_is_used_for_one_thing() -> None:
    [mistake] = broken(
        intents_from="kafka://b/one",
        results_to="kafka://b/two",
        dead_letters_to="kafka://b/one",
        approvals_to=None,
    )

    assert mistake.startswith("--dead-letters-to names the same topic as --intents-from")


def test_a_topic_is_the_same_under_another_path() -> None:
    [mistake] = broken(
        intents_from="sqlite:///bus.db?topic=one&group=g",
        results_to="sqlite:///here/../bus.db?topic=one",
        dead_letters_to="sqlite:///bus.db?topic=two",
        approvals_to=None,
    )

    assert mistake.startswith("--results-to names the same topic as --intents-from")
