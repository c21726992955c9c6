"""The seam by which a host keeps key states outside the runner, across its restarts.

A runner with durable state (Flink, Dataflow) needs none of this. The live local
loop does: its runner keeps state in memory only, so it installs a backup before
it runs the pipeline in its own process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class KeyStateBackup(Protocol):
    """Keeps the bytes of state cells, by `AgentConfig.namespace` and key.

    Both methods are called on the runner's bundle thread, and may block.
    """

    def load(self, namespace: str, key: bytes) -> bytes | None:
        """Return the bytes last saved for the key, or None.

        Asked when a key's cell is empty at its first read in a bundle.
        """

    def save(self, namespace: str, cells: Mapping[bytes, bytes]) -> None:
        """Keep the cells that a bundle wrote, by key.

        Called as the last act of a bundle, *before* its outputs have left: an
        implementation that makes a cell durable before the intents staged with it
        would lose them in a crash between the two.
        """


_installed: KeyStateBackup | None = None


def install(backup: KeyStateBackup | None) -> None:
    """Make every `RunAgent` of this process use the backup; None ends that."""
    global _installed
    _installed = backup


def installed() -> KeyStateBackup | None:
    """Return the backup of this process, if there is one."""
    return _installed
