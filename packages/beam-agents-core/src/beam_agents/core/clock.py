"""The engine's only time: what envelopes and timers say, never a wall clock."""

from __future__ import annotations

from beam_agents._protos import AgentEnvelope
from beam_agents._protos.state_pb2 import KeyState

# The years 1 to 9999: what every part of the system can represent with room to add to.
EARLIEST_MS = -62_135_596_800_000
LATEST_MS = 253_402_300_799_999


def now_of(envelope: AgentEnvelope) -> int:
    """Return an activation's now: deadlines and expiries count from it.

    The later of both times, so that a backlog's intents are not born expired.
    """
    event_time_ms, received_at_ms = envelope.event_time_ms, envelope.received_at_ms
    return event_time_ms if event_time_ms > received_at_ms else received_at_ms


def has_plausible_times(envelope: AgentEnvelope) -> bool:
    """Tell whether deadlines can be counted from the envelope's times."""
    return (
        EARLIEST_MS <= envelope.event_time_ms <= LATEST_MS
        and EARLIEST_MS <= envelope.received_at_ms <= LATEST_MS
    )


def next_due_ms(state: KeyState, ttl_ms: int) -> int | None:
    """Return when the key next needs its timer, or None if it waits for nothing."""
    due = [parked.until_ms for parked in state.parked]
    if state.HasField("continuation"):
        continuation = state.continuation
        due.append(continuation.hold_ends_ms if continuation.held else continuation.deadline_ms)
    elif is_forgettable(state):
        due.append(state.active_ms + ttl_ms)
    return min(due, default=None)


def is_forgettable(state: KeyState) -> bool:
    """Tell whether an idle key holds more than the seq that must outlive it."""
    return bool(state.memory or state.event_digests or state.answer_digests or len(state.timed_out))
