"""Prism, the one local runner of Beam that does timers, streams and unbounded reads at once."""

from __future__ import annotations

import socket
from pathlib import Path

from compose.local import go
from compose.local.places import HOST, Port
from compose.local.server import Server

PORT = Port("BEAM_AGENTS_PRISM_PORT", 18073)
PACKAGE, VERSION = "github.com/apache/beam/sdks/v2/go/cmd/prism", "v2.77.0"


def prepare(folder: Path) -> list[str]:
    prism = go.program(PACKAGE, VERSION)
    return [str(prism), f"--job_port={PORT.number}", "--serve_http=false"]


def ask(port: int) -> None:
    # The greeting of HTTP/2, as gRPC speaks it: a settings frame answers it.
    with socket.create_connection((HOST, port), timeout=2) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
        answer = connection.recv(9)
    if answer[3:4] != b"\x04":
        raise OSError(f"it answered HTTP/2 by {answer!r}")


SERVER = Server(port=PORT, prepare=prepare, ask=ask, patience_s=15)
