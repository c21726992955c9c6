"""A record of the dedup store, in the words of the people who ask what became of an intent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from beam_agents._protos import ToolResult
from beam_agents.effector.ports import DedupRecord


def record_in_words(record: DedupRecord, now_ms: int) -> Iterator[tuple[str, str]]:
    """Describe a record, a heading and a sentence each; payloads and tokens are left out.

    Args:
        record: What the store keeps.
        now_ms: The store's time.
    """
    yield "state", _state(record, now_ms)
    yield "attempts", f"{record.attempt} claimed; {_invoked(record)}"
    if record.result:
        yield from _result(ToolResult.FromString(record.result))
    yield "fingerprint", record.fingerprint.hex()
    yield "kept until", _time(record.keep_until_ms)


def _state(record: DedupRecord, now_ms: int) -> str:
    if record.result == b"":
        return "ended: the approval request was passed on; the answer is a person's"
    if record.result is not None:
        return "ended: every delivery gets the result below"
    if record.token and record.lease_until_ms > now_ms:
        left_ms = record.lease_until_ms - now_ms
        return f"claimed by attempt {record.attempt}, whose lease ends in {left_ms} ms"
    if record.token:
        return f"free: the lease of attempt {record.attempt} ended {_time(record.lease_until_ms)}"
    return "free: its claim was handed back"


def _invoked(record: DedupRecord) -> str:
    if not record.invoked:
        return "none noted that it calls the tool (only tools with on_crash do)"
    return "calls of the tool noted by " + ", ".join(map(str, record.invoked))


def _result(result: ToolResult) -> Iterator[tuple[str, str]]:
    status = ToolResult.Status.Name(result.status)
    outcome = ToolResult.Outcome.Name(result.outcome)
    yield "result", f"{status}, outcome {outcome}, of attempt {result.attempt}"
    yield "tool", repr(result.tool_name)
    if result.error_message:
        yield "message", result.error_message
    yield "payload", f"{len(result.payload)} bytes"
    yield "completed", _time(result.completed_at_ms)


def _time(ms: int) -> str:
    try:
        moment = datetime.fromtimestamp(ms / 1000, tz=timezone.utc)
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"  # kept, in effect, for ever
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
