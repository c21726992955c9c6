"""Where servers keep their files, and on which ports they listen."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parents[2]


def services_folder() -> Path:
    """Data, logs and pids: `.services/` in the repository, moved by `BEAM_AGENTS_SERVICES`."""
    return Path(os.environ.get("BEAM_AGENTS_SERVICES") or ROOT / ".services").resolve()


def cache_folder() -> Path:
    """Downloads, outside the work tree so that a clean checkout finds them again."""
    if chosen := os.environ.get("BEAM_AGENTS_CACHE"):
        return Path(chosen).resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "beam-agents"


@dataclass(frozen=True)
class Port:
    """A port of the loopback address, and the environment variable that moves it.

    Defaults are below 32768: above, a client's outgoing connection may sit on it.
    """

    variable: str
    default: int

    @property
    def number(self) -> int:
        return int(os.environ.get(self.variable) or self.default)
