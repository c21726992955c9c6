"""The Bigtable emulator. It keeps tables in memory: they end with it."""

from __future__ import annotations

from pathlib import Path

from compose.local import cloud_sdk, http2
from compose.local.places import HOST, Port
from compose.local.server import Server

PORT = Port("BEAM_AGENTS_BIGTABLE_PORT", 18086)


def prepare(folder: Path) -> list[str]:
    emulator = cloud_sdk.component("bigtable-emulator", "cbtemulator")
    return [str(emulator), "-host", HOST, "-port", str(PORT.number)]


SERVER = Server(port=PORT, prepare=prepare, ask=http2.greet, patience_s=15)
