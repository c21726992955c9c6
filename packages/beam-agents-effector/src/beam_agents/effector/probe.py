"""Where faults, spans and metrics look on: told what happens, at the places that matter."""

from __future__ import annotations

from beam_agents._protos import ToolIntent
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import Delivery


class Probe:
    """Hears of everything and does nothing; subclasses do. No method may wait."""

    def enter(self, phase: Phase, delivery: Delivery) -> None:
        """A phase begins for a delivery."""

    def leave(self, phase: Phase, delivery: Delivery) -> None:
        """A phase has ended."""

    def invoke(self, intent: ToolIntent) -> None:
        """A tool is called now."""

    def count(self, event: str) -> None:
        """Something happened that is only counted."""
