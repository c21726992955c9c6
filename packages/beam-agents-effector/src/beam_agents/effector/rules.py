"""The rules between settings: what one may be depends on another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from beam_agents.effector.schemes import STORE_CALL_TIMEOUT_MS
from beam_agents.intents.topics import TopicUri


@dataclass(frozen=True, slots=True)
class Rule:
    """Says what is wrong between the settings it names, or nothing."""

    needs: tuple[str, ...]
    judge: Callable[..., str | None]


def broken_rules(values: Mapping[str, Any]) -> Iterator[str]:
    """Judge the settings that could be read; a rule about one that could not is left out."""
    for rule in _RULES:
        if all(name in values for name in rule.needs):
            mistake = rule.judge(*(values[name] for name in rule.needs))
            if mistake is not None:
                yield mistake


def _lease_outlasts_calls(no_renewal: bool, lease_ms: int) -> str | None:
    least_ms = 3 * STORE_CALL_TIMEOUT_MS
    if no_renewal or lease_ms >= least_ms:
        return None
    return (
        f"--lease-ms must be at least 3 times the store's call timeout, else a lease ends before "
        f"it is renewed: {lease_ms} < 3 * {STORE_CALL_TIMEOUT_MS} = {least_ms}"
    )


def _lease_exceeds_skew(lease_ms: int, skew_ms: int) -> str | None:
    if lease_ms > skew_ms:
        return None
    return (
        f"--lease-ms must exceed --max-clock-skew-ms, else a clock that is allowed to be off "
        f"ends a lease before it began: {lease_ms} <= {skew_ms}"
    )


def _keys_are_there(verify_intents: str, sign_results: str | None, keys: str | None) -> str | None:
    if keys is not None:
        return None
    if verify_intents != "off":
        return f"--verify-intents {verify_intents} needs --signing-keys"
    return None if sign_results is None else "--sign-results needs --signing-keys"


def _keys_are_used(verify_intents: str, sign_results: str | None, keys: str | None) -> str | None:
    if keys is None or verify_intents != "off" or sign_results is not None:
        return None
    return (
        "--signing-keys is given but nothing uses it: add --verify-intents require, "
        "or --sign-results KEY_ID"
    )


def _sasl_is_whole(protocol: str, username: str | None, password: str | None) -> str | None:
    given = [
        name
        for name, value in [("USERNAME", username), ("PASSWORD", password)]
        if value is not None
    ]
    if protocol.startswith("SASL_"):
        missing = [name for name in ("USERNAME", "PASSWORD") if name not in given]
        names = " and ".join(f"EFFECTOR_KAFKA_{name}" for name in missing)
        return f"EFFECTOR_KAFKA_SECURITY_PROTOCOL={protocol} needs {names}" if missing else None
    if not given:
        return None
    return (
        f"EFFECTOR_KAFKA_{given[0]} is given but not sent by {protocol}: set "
        f"EFFECTOR_KAFKA_SECURITY_PROTOCOL to SASL_SSL or SASL_PLAINTEXT"
    )


def _tls_files_are_used(
    protocol: str, ca_file: str | None, cert_file: str | None, key_file: str | None
) -> str | None:
    if key_file is not None and cert_file is None:
        return "EFFECTOR_KAFKA_KEY_FILE needs EFFECTOR_KAFKA_CERT_FILE"
    files = [("CA", ca_file), ("CERT", cert_file)]
    given = [name for name, value in files if value is not None]
    if not given or protocol.endswith("SSL"):
        return None
    return (
        f"EFFECTOR_KAFKA_{given[0]}_FILE is given but {protocol} does not encrypt: set "
        f"EFFECTOR_KAFKA_SECURITY_PROTOCOL to SSL or SASL_SSL"
    )


def _topics_differ(*uris: str | None) -> str | None:
    names = ("--intents-from", "--results-to", "--approvals-to", "--dead-letters-to")
    seen: dict[str, TopicUri] = {}
    for name, uri in zip(names, uris, strict=True):
        topic = None if uri is None else TopicUri.parse(uri)
        for other, known in seen.items():
            if topic is not None and topic.is_same_topic(known):
                return f"{name} names the same topic as {other}; each needs its own"
        if topic is not None:
            seen[name] = topic
    return None


_RULES = (
    Rule(("no_lease_renewal", "lease_ms"), _lease_outlasts_calls),
    Rule(("lease_ms", "max_clock_skew_ms"), _lease_exceeds_skew),
    Rule(("verify_intents", "sign_results", "signing_keys"), _keys_are_there),
    Rule(("verify_intents", "sign_results", "signing_keys"), _keys_are_used),
    Rule(("kafka_security_protocol", "kafka_username", "kafka_password"), _sasl_is_whole),
    Rule(
        ("kafka_security_protocol", "kafka_ca_file", "kafka_cert_file", "kafka_key_file"),
        _tls_files_are_used,
    ),
    Rule(("intents_from", "results_to", "approvals_to", "dead_letters_to"), _topics_differ),
)
