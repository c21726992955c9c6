from __future__ import annotations

from beam_agents.io.logs import Look
from beam_agents.io.records import InboundRecord
from beam_agents.io.watermarks import watermark_after

NOW_MS = 1_000_000
IDLE_AFTER_MS = 5_000


def watermark(*timestamps_ms: int, end_seen_ms: int | None = None, before_ms: int = 0) -> int:
    records = [InboundRecord(None, b"", timestamp_ms=each) for each in timestamps_ms]
    look = Look(records, len(records), end_seen_ms)
    return watermark_after(look, before_ms, now_ms=NOW_MS, idle_after_ms=IDLE_AFTER_MS)


def test_at_the_end_of_a_log_time_is_that_of_the_look() -> None:
    assert watermark(end_seen_ms=900_000) == 895_000
    assert watermark(10_000, end_seen_ms=900_000) == 895_000


def test_in_a_backlog_time_is_the_logs_own() -> None:
    assert watermark(10_000, 20_000) == 15_000


def test_a_record_from_the_future_moves_time_no_further_than_our_clock() -> None:
    assert watermark(NOW_MS + 3_600_000) == NOW_MS - IDLE_AFTER_MS


def test_time_stands_still_where_the_log_does_not_answer() -> None:
    assert watermark(before_ms=7_000) == 7_000


def test_time_never_goes_back() -> None:
    assert watermark(10_000, before_ms=7_000) == 7_000
    assert watermark(end_seen_ms=10_000, before_ms=7_000) == 7_000
