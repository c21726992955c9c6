"""What a worker has in hand: every unfinished delivery, its phase, and what it waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter

from google.protobuf.message import DecodeError

from beam_agents._protos import ToolIntent
from beam_agents.effector.logs import intent_fields
from beam_agents.effector.metrics import Metrics
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import Clock, Delivery
from beam_agents.effector.probe import Probe

_INSIDE = {
    Phase.VERIFY: "its verification",
    Phase.REFUSE_EXPIRED: "the store's answer to a refusal",
    Phase.CLAIM: "the store's answer to a claim",
    Phase.EXECUTE: "its tool",
    Phase.COMPLETE: "the store to take the result",
    Phase.PUBLISH: "the results topic",
    Phase.COMMIT: "earlier intents of its partition, or the next commit",
}
_AFTER = {
    Phase.VERIFY: "earlier intents of its key",
    Phase.REFUSE_EXPIRED: "a place among the running tools, or the store",
    Phase.CLAIM: "another worker's claim, or the store",
}


@dataclass(slots=True)
class _Entry:
    delivery: Delivery
    since_ms: int
    phase: Phase = Phase.VERIFY
    inside: bool = True
    entered_s: float = 0.0

    @property
    def waits_for(self) -> str:
        return (_INSIDE if self.inside else _AFTER).get(self.phase, "its next phase")


class Unfinished(Probe):
    """Follows deliveries from their arrival to their commit, and measures their phases.

    Args:
        metrics: Told how long phases take.
        clock: Tells ages.
    """

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._seconds = {p: metrics.phase_seconds.labels(p.value) for p in Phase}
        # In the order of their arrival, so that the first is the oldest.
        self._entries: dict[int, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def oldest_ms(self) -> int:
        """The age of the oldest; 0 without any."""
        for entry in self._entries.values():
            return self._clock.monotonic_ms() - entry.since_ms
        return 0

    def enter(self, phase: Phase, delivery: Delivery) -> None:
        """Note where a delivery is."""
        if phase is Phase.VERIFY:
            self._entries[id(delivery)] = _Entry(delivery, self._clock.monotonic_ms())
        entry = self._entries.get(id(delivery))
        if entry is not None:
            entry.phase, entry.inside, entry.entered_s = phase, True, perf_counter()

    def leave(self, phase: Phase, delivery: Delivery) -> None:
        """Measure a phase; after the last one, forget the delivery."""
        entry = self._entries.get(id(delivery))
        if entry is not None:
            entry.inside = False
            self._seconds[phase].observe(perf_counter() - entry.entered_s)
            if phase is Phase.COMMIT:
                del self._entries[id(delivery)]

    def invoke(self, intent: ToolIntent) -> None:
        """Count a call."""
        self._metrics.invocations.labels(self._metrics.tool(intent.tool_name)).inc()

    def count(self, event: str) -> None:
        """Count an event."""
        self._metrics.events.labels(event).inc()

    def unstored(self, result: bytes) -> None:
        """Count a result that is seen nowhere but here."""
        self._metrics.count_result(result)

    def lose(self, partitions: Collection[str]) -> None:
        """Forget what is another's work."""
        for name, entry in list(self._entries.items()):
            if entry.delivery.partition in partitions:
                del self._entries[name]

    def oldest_lanes(self, most: int) -> Iterator[dict[str, object]]:
        """Describe the oldest intent of each of the oldest lanes."""
        keys: set[bytes | None] = set()
        for entry in list(self._entries.values()):
            if len(keys) >= most:
                return
            if entry.delivery.key not in keys:
                keys.add(entry.delivery.key)
                yield self._described(entry)

    def _described(self, entry: _Entry) -> dict[str, object]:
        intent, delivery = ToolIntent(), entry.delivery
        with suppress(DecodeError):
            intent = ToolIntent.FromString(delivery.value or b"")
        return {
            **intent_fields(intent.intent_id, intent.entity_key, phase=entry.phase.value),
            "tool": self._metrics.tool(intent.tool_name),
            "age_ms": self._clock.monotonic_ms() - entry.since_ms,
            "waits_for": entry.waits_for,
            "partition": delivery.partition,
            "offset": delivery.offset,
        }
