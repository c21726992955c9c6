"""Error records reach the worker's log, the first of them, and without what is the key's."""

from __future__ import annotations

from hashlib import sha256

import apache_beam as beam
import pytest

from beam_agents._protos import ActivationErrorRecord
from beam_agents.core import error_log
from beam_agents.core.agent import Complete
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.error_log import PER_PERIOD, PERIOD_S, ErrorLog
from beam_agents.core.transform import RunAgent
from tests.unit.core.agents import KEY
from tests.unit.core.envelopes import event

LOGGER = "beam_agents.core.error_log"


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def record(detail: str = "ValueError: no") -> ActivationErrorRecord:
    return ActivationErrorRecord(
        reason="agent_failed", detail=detail, entity_key=KEY, seq=7, namespace="billing"
    )


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == LOGGER]


def test_a_record_is_told_by_reason_namespace_and_key_digest(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ErrorLog().tell(record())

    (message,) = told(caplog)
    assert message.startswith("agent_failed: namespace 'billing', key digest ")
    assert sha256(KEY).hexdigest()[:16] in message
    assert "seq 7: ValueError: no" in message
    assert KEY.decode() not in message
    assert [each.levelname for each in caplog.records if each.name == LOGGER] == ["ERROR"]


def test_only_the_first_line_of_a_detail_is_told(caplog: pytest.LogCaptureFixture) -> None:
    ErrorLog().tell(record(detail="x" * 10_000 + "\nthe traceback"))

    (message,) = told(caplog)
    assert "the traceback" not in message
    assert len(message) < 1_000


def test_many_records_are_told_only_in_number(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    log = ErrorLog(clock)
    for _ in range(PER_PERIOD + 100):
        log.tell(record())
    assert len(told(caplog)) == PER_PERIOD

    clock.now_s += PERIOD_S
    log.tell(record())

    *_, left_out, last = told(caplog)
    assert left_out.startswith("100 more error records")
    assert last.startswith("agent_failed")


async def fails(ctx: ActivationContext) -> Complete:
    raise ValueError("no such charge")


def test_a_pipeline_whose_errors_nobody_reads_is_not_silent(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(error_log, "of_process", ErrorLog())

    with beam.Pipeline("FnApiRunner") as pipeline:
        elements = [(KEY, event(KEY, b"e", 1)), (KEY.decode(), event(KEY, b"e", 1))]
        _ = pipeline | beam.Create(elements) | RunAgent(fails, AgentConfig(namespace="billing"))

    assert sorted(each.partition(":")[0] for each in told(caplog)) == ["agent_failed", "malformed"]
    assert not any(KEY.decode() in each for each in told(caplog))
