"""Ways to log in to the real broker of `compose/local`, and what is said where they fail."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from beam_agents.effector.backends.kafka_sink import KafkaSink
from beam_agents.effector.errors import BackendUnavailable, OperatorError
from beam_agents.kafka import KafkaSecurity
from compose.local.places import services_folder
from compose.local.servers.kafka import USERS

TLS = services_folder() / "kafka" / "tls"
CA = str(TLS / "ca.crt")
SASL_LISTENER, TLS_LISTENER, SASL_TLS_LISTENER = 2, 3, 4  # ports after the plain one

PLAIN = KafkaSecurity("SASL_PLAINTEXT", "PLAIN", "alice", USERS["alice"])
SCRAM_OVER_TLS = KafkaSecurity("SASL_SSL", "SCRAM-SHA-512", "alice", USERS["alice"], ca_file=CA)
MUTUAL_TLS = KafkaSecurity(
    "SSL", ca_file=CA, cert_file=str(TLS / "client.crt"), key_file=str(TLS / "client.key")
)


class Listeners:
    """Sinks for one topic, by listener."""

    def __init__(self, plain: str, topic: str) -> None:
        self._host, _, port = plain.split(",")[0].rpartition(":")
        self._port = int(port)
        self._topic = topic

    def sink(self, listener: int, security: KafkaSecurity) -> KafkaSink:
        return KafkaSink([f"{self._host}:{self._port + listener}"], self._topic, security=security)


@pytest.fixture
async def listeners(kafka_hosts: str) -> Listeners:
    topic = f"security-{uuid4().hex}"
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka_hosts)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 1, 1)])
    await admin.close()
    return Listeners(kafka_hosts, topic)


@pytest.mark.parametrize(
    ("listener", "security"),
    [
        (SASL_LISTENER, PLAIN),
        (SASL_LISTENER, replace(PLAIN, mechanism="SCRAM-SHA-256")),
        (SASL_LISTENER, replace(PLAIN, mechanism="SCRAM-SHA-512")),
        (SASL_TLS_LISTENER, SCRAM_OVER_TLS),
        (TLS_LISTENER, MUTUAL_TLS),
    ],
    ids=["plain", "scram-256", "scram-512", "scram-over-tls", "mutual-tls"],
)
async def test_each_way_to_log_in_leads_to_the_topic(
    listeners: Listeners, listener: int, security: KafkaSecurity
) -> None:
    sink = listeners.sink(listener, security)
    await sink.open()

    await sink.publish(key=b"k", value=b"v")

    await sink.aclose()


@pytest.mark.parametrize(
    ("listener", "security", "reason"),
    [
        (SASL_LISTENER, replace(PLAIN, password="wrong"), "Authentication failed"),
        (SASL_TLS_LISTENER, replace(SCRAM_OVER_TLS, password="wrong"), "invalid credentials"),
        (SASL_TLS_LISTENER, replace(SCRAM_OVER_TLS, ca_file=None), "certificate is not trusted"),
        (TLS_LISTENER, KafkaSecurity(), "EFFECTOR_KAFKA_SECURITY_PROTOCOL"),
        (SASL_LISTENER, KafkaSecurity(), "EFFECTOR_KAFKA_SECURITY_PROTOCOL"),
        (0, MUTUAL_TLS, "EFFECTOR_KAFKA_SECURITY_PROTOCOL"),
        (0, PLAIN, "EFFECTOR_KAFKA_SECURITY_PROTOCOL"),
    ],
    ids=[
        "password",
        "scram",
        "ca",
        "plain-to-tls",
        "plain-to-sasl",
        "tls-to-plain",
        "sasl-to-plain",
    ],
)
async def test_who_is_not_let_in_is_told_the_real_reason(
    listeners: Listeners, listener: int, security: KafkaSecurity, reason: str
) -> None:
    sink = listeners.sink(listener, security)

    with pytest.raises(BackendUnavailable, match=reason) as raised:
        await sink.open()

    assert "wrong" not in str(raised.value)
    await sink.aclose()


async def test_a_certificate_file_that_cannot_be_read_is_named() -> None:
    sink = KafkaSink(
        ["127.0.0.1:1"], "results", security=KafkaSecurity("SSL", ca_file="/missing/ca.pem")
    )

    with pytest.raises(OperatorError, match=r"'/missing/ca\.pem': No such file"):
        await sink.open()
