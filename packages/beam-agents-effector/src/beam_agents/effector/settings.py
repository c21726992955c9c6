"""Every option of the effector: its type, default, help and rule, and so its flag and variable.

A stdlib dataclass that pydantic validates, and not a pydantic model: `--help` is
made of it, and importing pydantic would double the time that `--help` takes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Annotated, Literal

from beam_agents.effector.options import Option, Setting, settings_of
from beam_agents.effector.schemes import (
    Connections,
    is_installed,
    store_mistake,
    topic_mistake,
)
from beam_agents.intents.topics import mask_uri
from beam_agents.kafka import KafkaSecurity

_WIRING = "Wiring"
_TRUST = "Trust"
_LEASES = "Leases and deadlines"
_TOOLS = "Tools"
_LIMITS = "Limits"
_LOGS = "Logs and health"
_SERVERS = "Servers, from the environment only"


def _registry_mistake(path: str) -> str | None:
    module, colon, attribute = path.partition(":")
    if attribute and ("/" in module or module.endswith(".py")):
        file = PurePath(module)
        return (
            f"{path!r} names a file: give its module, '{file.stem}:{attribute}', "
            f"and start in the folder {str(file.parent)!r}, or put that on PYTHONPATH"
        )
    if module and colon and attribute:
        return None
    return f"{path!r} is not of the form module:attribute"


def _address_mistake(address: str) -> str | None:
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and int(port) < 65_536:
        return None
    return f"{address!r} is not of the form HOST:PORT"


def _otel_mistake(wanted: bool) -> str | None:
    if not wanted or is_installed("opentelemetry.exporter.otlp.proto.http"):
        return None
    return "needs the extra 'otel': pip install 'beam-agents-effector[otel]'"


@dataclass(frozen=True, kw_only=True, repr=False)
class Settings:
    """The settings of one effector process; valid, and free of contradictions."""

    registry: Annotated[
        str,
        Option(
            _WIRING,
            "MODULE:NAME",
            "The ToolRegistry to serve, as the agent declares it.",
            check=_registry_mistake,
        ),
    ]
    intents_from: Annotated[
        str, Option(_WIRING, "URI", "The topic of intents.", check=topic_mistake)
    ]
    results_to: Annotated[
        str, Option(_WIRING, "URI", "The topic for results.", check=topic_mistake)
    ]
    dedup: Annotated[
        str,
        Option(
            _WIRING,
            "URI",
            "The dedup store: redis://, rediss://, sqlite:///file.db; memory:// for tests.",
            check=store_mistake,
        ),
    ]
    approvals_to: Annotated[
        str | None,
        Option(
            _WIRING,
            "URI",
            "The topic for approval requests; without it they are rejected.",
            check=topic_mistake,
        ),
    ] = None
    dead_letters_to: Annotated[
        str | None,
        Option(
            _WIRING,
            "URI",
            "The topic for records that cannot be handled; without it they are logged.",
            check=topic_mistake,
        ),
    ] = None
    consumer_group: Annotated[
        str, Option(_WIRING, "NAME", "The workers that share the intents.")
    ] = "beam-agents-effector"

    verify_intents: Annotated[
        Literal["off", "permissive", "require"],
        Option(
            _TRUST,
            "off|permissive|require",
            "Whether intents must be signed; permissive runs unsigned ones, never forged ones.",
        ),
    ] = "off"
    signing_keys: Annotated[
        str | None,
        Option(_TRUST, "env:VAR|file:PATH", "The keyring for intents and results."),
    ] = None
    sign_results: Annotated[
        str | None, Option(_TRUST, "KEY_ID", "Sign results with this key of the keyring.")
    ] = None
    approval_keys: Annotated[
        str | None, Option(_TRUST, "env:VAR|file:PATH", "The keyring for approvals.")
    ] = None

    lease_ms: Annotated[
        int, Option(_LEASES, "MS", "How long a claim lasts unless it is renewed.", least=1)
    ] = 30_000
    tool_timeout_ms: Annotated[
        int, Option(_LEASES, "MS", "How long a tool may run, if it does not say itself.", least=1)
    ] = 20_000
    result_ttl_ms: Annotated[
        int, Option(_LEASES, "MS", "How long the store remembers an intent.", least=1)
    ] = 86_400_000
    no_lease_renewal: Annotated[
        bool,
        Option(_LEASES, "", "Never renew: the lease must then exceed every tool's timeout."),
    ] = False
    max_clock_skew_ms: Annotated[
        int,
        Option(
            _LEASES,
            "MS",
            "How far our clock may be from the store's before we are not ready.",
            least=1,
        ),
    ] = 5_000
    shutdown_grace_ms: Annotated[
        int, Option(_LEASES, "MS", "How long running tools may go on after SIGTERM.", least=0)
    ] = 25_000

    unknown_tool: Annotated[
        Literal["reject", "wait"],
        Option(
            _TOOLS,
            "reject|wait",
            "What to do with an unknown tool's intent; wait, while releases roll out.",
        ),
    ] = "reject"
    refuse_tools: Annotated[
        str | None,
        Option(_TOOLS, "NAME,…|file:PATH", "Tools not to run: the emergency stop."),
    ] = None
    error_detail: Annotated[
        Literal["full", "type"],
        Option(_TOOLS, "full|type", "What a result tells of an exception: its text, or its type."),
    ] = "full"

    max_in_flight: Annotated[int, Option(_LIMITS, "N", "How many tools run at once.", least=1)] = (
        1_000
    )
    max_waiting: Annotated[
        int, Option(_LIMITS, "N", "How many records of a partition wait in memory.", least=1)
    ] = 1_000
    max_result_bytes: Annotated[
        int, Option(_LIMITS, "N", "How large a tool's encoded result may be.", least=1)
    ] = 900_000
    sync_threads: Annotated[
        int, Option(_LIMITS, "N", "How many threads run the tools that are not async.", least=1)
    ] = 32

    log_format: Annotated[
        Literal["text", "json"], Option(_LOGS, "text|json", "How log lines are written.")
    ] = "text"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Option(_LOGS, "debug|info|warning|error", "The least that is logged."),
    ] = "info"

    http: Annotated[
        str | None,
        Option(
            _LOGS,
            "HOST:PORT",
            "Where to serve /metrics, /healthz, /readyz and /lanes.",
            check=_address_mistake,
        ),
    ] = None

    otel: Annotated[
        bool,
        Option(
            _LOGS,
            "",
            "Send a trace of each intent by OTLP, as the OTEL_… variables say.",
            check=_otel_mistake,
        ),
    ] = False

    kafka_security_protocol: Annotated[
        Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"],
        Option(_SERVERS, "", "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.", env_only=True),
    ] = "PLAINTEXT"
    kafka_sasl_mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"],
        Option(_SERVERS, "", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.", env_only=True),
    ] = "PLAIN"
    kafka_username: Annotated[
        str | None, Option(_SERVERS, "", "With a SASL protocol.", env_only=True)
    ] = None
    kafka_password: Annotated[
        str | None, Option(_SERVERS, "", "With a SASL protocol.", env_only=True, secret=True)
    ] = None
    kafka_ca_file: Annotated[
        str | None, Option(_SERVERS, "", "Authorities to trust, PEM.", env_only=True)
    ] = None
    kafka_cert_file: Annotated[
        str | None, Option(_SERVERS, "", "Our certificate, for mutual TLS.", env_only=True)
    ] = None
    kafka_key_file: Annotated[
        str | None, Option(_SERVERS, "", "Its private key.", env_only=True)
    ] = None
    redis_username: Annotated[str | None, Option(_SERVERS, "", "The ACL user.", env_only=True)] = (
        None
    )
    redis_password: Annotated[
        str | None, Option(_SERVERS, "", "Its password.", env_only=True, secret=True)
    ] = None
    redis_ca_file: Annotated[
        str | None, Option(_SERVERS, "", "Authorities to trust, PEM.", env_only=True)
    ] = None

    def __repr__(self) -> str:
        shown = ", ".join(f"{field.name}={self._shown(field.name)}" for field in fields(self))
        return f"Settings({shown})"

    def _shown(self, name: str) -> str:
        value = getattr(self, name)
        secret = value is not None and SETTINGS_BY_NAME[name].option.secret
        return "'***'" if secret else mask_uri(repr(value))

    def connections(self) -> Connections:
        """Gather what backends need beside their URIs."""
        return Connections(
            consumer_group=self.consumer_group,
            result_ttl_ms=self.result_ttl_ms,
            max_clock_skew_ms=self.max_clock_skew_ms,
            kafka=KafkaSecurity(
                protocol=self.kafka_security_protocol,
                mechanism=self.kafka_sasl_mechanism,
                username=self.kafka_username,
                password=self.kafka_password,
                ca_file=self.kafka_ca_file,
                cert_file=self.kafka_cert_file,
                key_file=self.kafka_key_file,
            ),
            redis_username=self.redis_username,
            redis_password=self.redis_password,
            redis_ca_file=self.redis_ca_file,
        )


SETTINGS: tuple[Setting, ...] = settings_of(Settings)
SETTINGS_BY_NAME = {setting.name: setting for setting in SETTINGS}
