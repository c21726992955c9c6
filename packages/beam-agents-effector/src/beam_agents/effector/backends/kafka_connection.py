"""Reaching a Kafka cluster, or saying in one line why not."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.conn import collect_hosts, create_conn
from aiokafka.errors import IllegalSaslStateError, KafkaConnectionError, KafkaError

from beam_agents.effector.backends.kafka_security import KafkaSecurity
from beam_agents.effector.errors import BackendUnavailable, OperatorError, TopicMissing

# Long enough for a rebalance, which blocks a request for as long as a session lasts.
REQUEST_TIMEOUT_MS = 20_000
# How long one publish or commit waits: aiokafka would wait for the broker for ever, and
# whoever called it would not hear that it is away.
ANSWER_TIMEOUT_S = 10.0
_CONNECT_TIMEOUT_MS = 5_000
_OTHER_PROTOCOL = "does it expect another EFFECTOR_KAFKA_SECURITY_PROTOCOL on this port?"


async def connected_arguments(
    hosts: Sequence[str], topic: str, security: KafkaSecurity
) -> dict[str, Any]:
    """Check that the cluster lets us in and has the topic; return an aiokafka client's arguments.

    Asked before a client is made, because aiokafka tells the reasons of a failed
    connection to its log only, and waits 40 seconds for a topic that is missing.

    Raises:
        BackendUnavailable: No broker lets us in; with each one's reason.
        TopicMissing: The topic does not exist, or may not be seen.
        OperatorError: A certificate or key file cannot be used.
    """
    try:
        arguments = security.client_arguments()
    except OSError as error:
        files = [security.ca_file, security.cert_file, security.key_file]
        names = ", ".join(repr(name) for name in files if name)
        reason = error.strerror or str(error)
        raise OperatorError(f"cannot use the TLS files {names}: {reason}") from error
    await _knock(hosts, arguments)
    await _check_topic(hosts, topic, arguments)
    return {
        "bootstrap_servers": list(hosts),
        "request_timeout_ms": REQUEST_TIMEOUT_MS,
        **arguments,
    }


async def _knock(hosts: Sequence[str], arguments: dict[str, Any]) -> None:
    """Return once one broker lets us in."""
    reasons = []
    for host, port, _ in collect_hosts(list(hosts)):
        reason = await _refusal(host, port, arguments)
        if reason is None:
            return
        reasons.append(f"{host}:{port}: {reason}")
    raise BackendUnavailable(f"no Kafka broker lets us in: {'; '.join(reasons)}")


async def _refusal(host: str, port: int, arguments: dict[str, Any]) -> str | None:
    try:
        connection = await create_conn(
            host, port, request_timeout_ms=_CONNECT_TIMEOUT_MS, **arguments
        )
    except (OSError, KafkaError, asyncio.TimeoutError) as error:
        return _reason(error)
    connection.close()
    return None


async def _check_topic(hosts: Sequence[str], topic: str, arguments: dict[str, Any]) -> None:
    admin = AIOKafkaAdminClient(
        bootstrap_servers=list(hosts), request_timeout_ms=REQUEST_TIMEOUT_MS, **arguments
    )
    try:
        await admin.start()
        topics = await admin.list_topics()
    except KafkaError as error:
        raise BackendUnavailable(f"Kafka does not list its topics: {_reason(error)}") from error
    finally:
        await admin.close()
    if topic not in topics:
        raise TopicMissing(
            f"the topic {topic!r} does not exist at {','.join(hosts)}, or this user may not "
            f"see it: create it, with as many partitions as its keys need"
        )


def _reason(error: BaseException) -> str:
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case asyncio.TimeoutError():  # before OSError, of which it is one since Python 3.11
            return f"no answer within {_CONNECT_TIMEOUT_MS} ms"
        case ConnectionRefusedError():
            return "connection refused"
        case KafkaConnectionError() | IllegalSaslStateError() | ConnectionError():
            return f"it hung up; {_OTHER_PROTOCOL}"
        case ssl.SSLError():
            return f"TLS failed ({error.reason or error}); {_OTHER_PROTOCOL}"
        case OSError():
            return error.strerror or repr(error)
        case _:
            return str(error.args[0] if error.args else repr(error))
