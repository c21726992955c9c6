"""How far the time of a log has moved, by what a look at it found."""

from __future__ import annotations

from beam_agents.io.logs import Look


def watermark_after(look: Look, before_ms: int, *, now_ms: int, idle_after_ms: int) -> int:
    """Return the watermark of a log once all that a look found is processed.

    It says up to when nothing more is expected. While there is a backlog, all has been
    read up to the log's own time of the last record; at the end of the log, up to when
    that end was seen. `idle_after_ms` is taken off either, for answers that were
    completed and are still on their way to the log. So the watermark follows the clock
    on a quiet topic, stands still where reading fails, and never depends on what an
    event says of its own time.
    """
    if look.end_seen_ms is not None:
        all_read_until_ms = look.end_seen_ms
    elif look.records:
        # By our clock at most: a record from the future must not fire every timer.
        all_read_until_ms = min(look.records[-1].timestamp_ms, now_ms)
    else:
        return before_ms
    return max(before_ms, all_read_until_ms - idle_after_ms)
