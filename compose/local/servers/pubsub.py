"""The Pub/Sub emulator. It keeps topics in memory: they end with it."""

from __future__ import annotations

import urllib.request
from pathlib import Path

from compose.local import cloud_sdk
from compose.local.places import HOST, Port
from compose.local.programs import need
from compose.local.server import Server

PORT = Port("BEAM_AGENTS_PUBSUB_PORT", 18085)


def prepare(folder: Path) -> list[str]:
    need("java", "a Java runtime, 17 or later")
    jar = cloud_sdk.component("pubsub-emulator", "lib/cloud-pubsub-emulator-*-all.jar")
    jvm = ["-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return ["java", *jvm, "-jar", str(jar), f"--host={HOST}", f"--port={PORT.number}"]


def ask(port: int) -> None:
    """Ask for the topics of a project: an open port alone may not serve it yet."""
    url = f"http://{HOST}:{port}/v1/projects/beam-agents/topics"
    with urllib.request.urlopen(url, timeout=5) as answer:
        answer.read()


SERVER = Server(port=PORT, prepare=prepare, ask=ask, patience_s=30)
