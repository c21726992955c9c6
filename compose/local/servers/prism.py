"""Prism, the one local runner of Beam that does timers, streams and unbounded reads at once."""

from __future__ import annotations

from pathlib import Path

from compose.local import go, http2
from compose.local.places import Port
from compose.local.server import Server

PORT = Port("BEAM_AGENTS_PRISM_PORT", 18073)
PACKAGE, VERSION = "github.com/apache/beam/sdks/v2/go/cmd/prism", "v2.77.0"


def prepare(folder: Path) -> list[str]:
    prism = go.program(PACKAGE, VERSION)
    return [str(prism), f"--job_port={PORT.number}", "--serve_http=false"]


SERVER = Server(port=PORT, prepare=prepare, ask=http2.greet, patience_s=15)
