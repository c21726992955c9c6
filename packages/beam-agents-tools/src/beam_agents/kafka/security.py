"""How a Kafka client proves who it is, and knows whom it talks to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class KafkaSecurity:
    """The security settings of a Kafka connection, as Kafka's own clients name them.

    Attributes:
        protocol: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`.
        mechanism: `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`; counts with SASL only.
        username: With SASL.
        password: With SASL.
        ca_file: PEM file of the authorities that may vouch for the broker; the
            system's where it is None.
        cert_file: PEM file of the client's certificate, for mutual TLS.
        key_file: PEM file of its private key, where `cert_file` does not hold it.
    """

    protocol: str = "PLAINTEXT"
    mechanism: str = "PLAIN"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None

    @property
    def uses_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def uses_sasl(self) -> bool:
        """Whether a name and a password are sent."""
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def client_arguments(self) -> dict[str, Any]:
        """Build the keyword arguments of an aiokafka client; reads the files.

        Raises:
            OSError: A file cannot be read, or does not hold what it should.
        """
        arguments: dict[str, Any] = {"security_protocol": self.protocol}
        if self.uses_sasl:
            arguments["sasl_mechanism"] = self.mechanism
            arguments["sasl_plain_username"] = self.username
            arguments["sasl_plain_password"] = self.password
        if self.uses_tls:
            import ssl  # not for those who only ask for --help

            context = ssl.create_default_context(cafile=self.ca_file)
            if self.cert_file:
                context.load_cert_chain(self.cert_file, self.key_file)
            arguments["ssl_context"] = context
        return arguments
