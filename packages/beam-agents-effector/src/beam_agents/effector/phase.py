"""The seven steps of an intent, by name."""

from __future__ import annotations

from enum import Enum


class Phase(Enum):
    """A step of every intent; faults, spans and metrics go by these names."""

    VERIFY = "verify"
    REFUSE_EXPIRED = "refuse_expired"
    CLAIM = "claim"
    EXECUTE = "execute"
    COMPLETE = "complete"
    PUBLISH = "publish"
    COMMIT = "commit"
