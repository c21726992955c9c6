"""Masking: no credential of a URI is printed, and the rest stays readable."""

from __future__ import annotations

import pytest

from beam_agents.intents.masking import is_secret_parameter, mask_uri


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("redis://:hunter2@host:6379/0", "redis://***@host:6379/0"),
        ("redis://user:p@ss@host/0", "redis://***@host/0"),
        ("redis://:hun/ter2@host:6379/0", "redis://***@host:6379/0"),
        ("redis://:hun#ter2@host", "redis://***@host"),
        ("redis://:hun?ter2@host", "redis://***@host"),
        ("redis://:hun ter2@host/0", "redis://***@host/0"),
        ("redis://u:h/u#n?t e@r2@host/0", "redis://***@host/0"),
        ("redis://u:12/34@host", "redis://***@host"),
        ("https://ghp_tok/en@host/x", "https://***@host/x"),
        ("user:hunter2@host:6379", "***@host:6379"),
        ("redis:/u:hunter2@host", "***@host"),
        ("cannot reach redis://u:p@h, sorry", "cannot reach redis://***@h, sorry"),
        ("redis://u:p@h and redis://u:p@k", "redis://***@h and redis://***@k"),
        ("'redis://u:p'w@host/0'", "'redis://***@host/0'"),
    ],
)
def test_a_password_never_prints(text: str, masked: str) -> None:
    assert mask_uri(text) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("redis://host/0?password=hunter2&db=1", "redis://host/0?password=***&db=1"),
        ("redis://host/0?pass=hun#ter2", "redis://host/0?pass=***"),
        ("redis://host/0?db=1&pwd=hun ter2&a=1", "redis://host/0?db=1&pwd=***&a=1"),
        ("https://h/?sig=a%2Fb&se=1#access_token=z", "https://h/?sig=***&se=1#access_token=***"),
        (
            "https://s3/x?X-Amz-Signature=ab&X-Amz-Credential=q/r&X-Amz-Date=2024",
            "https://s3/x?X-Amz-Signature=***&X-Amz-Credential=***&X-Amz-Date=2024",
        ),
        ("https://h/?api_key=abc&a=1", "https://h/?api_key=***&a=1"),
        (
            "https://h/?client_secret=a;b&Authorization=c",
            "https://h/?client_secret=***&Authorization=***",
        ),
        ('{"uri":"redis://h/0?token=t","to":1}', '{"uri":"redis://h/0?token=***","to":1}'),
    ],
)
def test_a_parameter_that_is_a_credential_never_prints(text: str, masked: str) -> None:
    assert mask_uri(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "kafka://host:9092/topic?group=g&session_timeout_ms=5",
        "kafka://host:9092/topic failed for me@example.org",
        "redis://host/0 failed: me@example.org",
        "write to me@example.org",
        '{"uri":"redis://host/0","to":"me@example.org"}',
        "sqlite:///file.db?topic=intents",
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    assert mask_uri(text) == text


def test_parameters_are_known_by_their_names() -> None:
    assert is_secret_parameter("X-Amz-Signature")
    assert not is_secret_parameter("session_timeout_ms")
