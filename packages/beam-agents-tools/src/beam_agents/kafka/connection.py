"""Reaching a Kafka cluster, or saying in one line why not."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.conn import collect_hosts, create_conn
from aiokafka.errors import IllegalSaslStateError, KafkaConnectionError, KafkaError

from beam_agents.kafka.errors import BrokerUnreachable, UnknownTopic, UnusableFiles
from beam_agents.kafka.security import KafkaSecurity

# Long enough for a rebalance, which blocks a request for as long as a session lasts.
REQUEST_TIMEOUT_MS = 20_000
_CONNECT_TIMEOUT_MS = 5_000


async def connected_arguments(
    hosts: Sequence[str], topic: str, security: KafkaSecurity, *, protocol_setting: str
) -> dict[str, Any]:
    """Check that the cluster lets us in and has the topic; return an aiokafka client's arguments.

    Asked before a client is made, because aiokafka tells the reasons of a failed
    connection to its log only, and waits 40 seconds for a topic that is missing.

    Args:
        hosts: `host:port` of some brokers.
        topic: The topic.
        security: How to log in, and whom to trust.
        protocol_setting: What the caller calls `security.protocol`, for the message.

    Raises:
        BrokerUnreachable: No broker lets us in; with each one's reason.
        UnknownTopic: The topic does not exist, or may not be seen.
        UnusableFiles: A certificate or key file cannot be used.
    """
    try:
        arguments = security.client_arguments()
    except OSError as error:
        files = [security.ca_file, security.cert_file, security.key_file]
        names = ", ".join(repr(name) for name in files if name)
        reason = error.strerror or str(error)
        raise UnusableFiles(f"cannot use the TLS files {names}: {reason}") from error
    await _knock(hosts, arguments, protocol_setting)
    await _check_topic(hosts, topic, arguments, protocol_setting)
    return {
        "bootstrap_servers": list(hosts),
        "request_timeout_ms": REQUEST_TIMEOUT_MS,
        **arguments,
    }


async def _knock(hosts: Sequence[str], arguments: dict[str, Any], setting: str) -> None:
    """Return once one broker lets us in."""
    reasons = []
    for host, port, _ in collect_hosts(list(hosts)):
        reason = await _refusal(host, port, arguments, setting)
        if reason is None:
            return
        reasons.append(f"{host}:{port}: {reason}")
    raise BrokerUnreachable(f"no Kafka broker lets us in: {'; '.join(reasons)}")


async def _refusal(host: str, port: int, arguments: dict[str, Any], setting: str) -> str | None:
    try:
        connection = await create_conn(
            host, port, request_timeout_ms=_CONNECT_TIMEOUT_MS, **arguments
        )
    except (OSError, KafkaError, asyncio.TimeoutError) as error:
        return _reason(error, setting)
    connection.close()
    return None


async def _check_topic(
    hosts: Sequence[str], topic: str, arguments: dict[str, Any], setting: str
) -> None:
    admin = AIOKafkaAdminClient(
        bootstrap_servers=list(hosts), request_timeout_ms=REQUEST_TIMEOUT_MS, **arguments
    )
    try:
        await admin.start()
        topics = await admin.list_topics()
    except KafkaError as error:
        raise BrokerUnreachable(
            f"Kafka does not list its topics: {_reason(error, setting)}"
        ) from error
    finally:
        await admin.close()
    if topic not in topics:
        raise UnknownTopic(
            f"the topic {topic!r} does not exist at {','.join(hosts)}, or this user may not "
            f"see it: create it, with as many partitions as its keys need"
        )


def _reason(error: BaseException, setting: str) -> str:
    other_protocol = f"does it expect another {setting} on this port?"
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case asyncio.TimeoutError():  # before OSError, of which it is one since Python 3.11
            return f"no answer within {_CONNECT_TIMEOUT_MS} ms"
        case ConnectionRefusedError():
            return "connection refused"
        case KafkaConnectionError() | IllegalSaslStateError() | ConnectionError():
            return f"it hung up; {other_protocol}"
        case ssl.SSLError():
            return f"TLS failed ({error.reason or error}); {other_protocol}"
        case OSError():
            return error.strerror or repr(error)
        case _:
            return str(error.args[0] if error.args else repr(error))
