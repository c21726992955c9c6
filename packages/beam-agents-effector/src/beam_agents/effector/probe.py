"""Where faults, spans and metrics look on: told what happens, at the places that matter."""

from __future__ import annotations

from collections.abc import Collection, Sequence

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

    def unstored(self, result: bytes) -> None:
        """A terminal result is published that the store does not hold: a conflict's."""

    def lose(self, partitions: Collection[str]) -> None:
        """Another worker has these partitions now, and what is unfinished of them."""


class Probes(Probe):
    """Several that look on, each told of everything.

    Args:
        probes: Told in this order.
    """

    def __init__(self, *probes: Probe) -> None:
        self._probes = probes

    @classmethod
    def of(cls, probes: Sequence[Probe]) -> Probe:
        """Return one that tells all of these."""
        if len(probes) == 1:
            return probes[0]
        return cls(*probes) if probes else Probe()

    def enter(self, phase: Phase, delivery: Delivery) -> None:
        """Tell all."""
        for probe in self._probes:
            probe.enter(phase, delivery)

    def leave(self, phase: Phase, delivery: Delivery) -> None:
        """Tell all."""
        for probe in self._probes:
            probe.leave(phase, delivery)

    def invoke(self, intent: ToolIntent) -> None:
        """Tell all."""
        for probe in self._probes:
            probe.invoke(intent)

    def count(self, event: str) -> None:
        """Tell all."""
        for probe in self._probes:
            probe.count(event)

    def unstored(self, result: bytes) -> None:
        """Tell all."""
        for probe in self._probes:
            probe.unstored(result)

    def lose(self, partitions: Collection[str]) -> None:
        """Tell all."""
        for probe in self._probes:
            probe.lose(partitions)
