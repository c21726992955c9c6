"""What is stored is seen: publishing goes on until it succeeds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from beam_agents._protos import ToolResult
from beam_agents.effector.backends.memory_log import MemoryTopic
from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.config import EffectorOptions
from beam_agents.effector.ports import Headers, RecordTooLarge, SinkUnavailable
from beam_agents.effector.service import EffectorService
from beam_agents.effector.testing.quiet import let_callbacks_run
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.intents import Outcome, Status
from beam_agents.tools import ToolRegistry, tool
from tests.unit.effector.requests import request


@tool(side_effect=True)
async def charge(size: int = 0) -> str:
    return "x" * size


class Topic:
    """A topic that can be down, and that takes records up to a size."""

    def __init__(self) -> None:
        self.down = False
        self.largest = 10_000_000
        self.attempts = 0
        self.records: list[tuple[bytes, bytes, Headers]] = []

    async def open(self) -> None: ...

    async def publish(self, *, key: bytes, value: bytes, headers: Headers = ()) -> None:
        self.attempts += 1
        if self.down:
            raise SinkUnavailable("the broker is gone")
        if len(value) > self.largest:
            raise RecordTooLarge(len(value))
        self.records.append((key, value, headers))

    async def check(self) -> None: ...

    async def aclose(self) -> None: ...

    @property
    def results(self) -> list[ToolResult]:
        return [ToolResult.FromString(value) for _, value, _ in self.records]


class Running:
    """A service on topics of ours, and the time in our hands."""

    def __init__(self, **options: Any) -> None:
        self.clock = SteppedClock()
        self.intents = MemoryTopic("intents", clock=self.clock)
        self.results, self.approvals, self.dead_letters = Topic(), Topic(), Topic()
        self.service = EffectorService(
            registry=ToolRegistry(charge),
            source=self.intents.source(),
            results=self.results,
            approvals=self.approvals,
            dead_letters=self.dead_letters,
            store=MemoryStore(clock=self.clock),
            options=EffectorOptions(commit_interval_ms=0, **options),
            clock=self.clock,
        )

    async def send(self, *values: bytes) -> None:
        for value in values:
            self.intents.append(key=b"acct-1", value=value)
        await let_callbacks_run()

    async def pass_ms(self, ms: int) -> None:
        until_ms = self.clock.now_ms() + ms
        while (wake_ms := self.clock.next_wake_ms) is not None and wake_ms <= until_ms:
            self.clock.step(wake_ms)
            await let_callbacks_run()
        self.clock.step(until_ms)


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    running = Running()
    task = asyncio.ensure_future(running.service.run())
    await let_callbacks_run()
    yield running
    running.service.stop()
    running.service.stop()
    await task


async def test_a_result_is_published_once_the_topic_takes_it_and_not_committed_before(
    running: Running,
) -> None:
    running.results.down = True
    await running.send(request().SerializeToString())
    await running.pass_ms(3_600_000)
    assert running.results.attempts > 100
    assert running.intents.committed(0) == 0
    running.results.down = False
    await running.pass_ms(10_000)
    assert [result.status for result in running.results.results] == [Status.OK]
    assert running.intents.committed(0) == 1


async def test_a_stuck_topic_stops_fetching_and_says_so(running: Running) -> None:
    running.results.down = True
    await running.send(request().SerializeToString())
    await running.send(request(key=b"other").SerializeToString())
    await running.pass_ms(1_000)
    assert running.service.stuck_topics == ["results"]
    await running.send(request(key=b"third").SerializeToString())
    attempted = running.results.attempts
    running.results.down = False
    await running.pass_ms(10_000)
    assert running.service.stuck_topics == []
    assert len(running.results.results) == 3
    assert attempted > 0


async def test_a_result_that_the_topic_refuses_for_its_size_is_published_in_short(
    running: Running,
) -> None:
    running.results.largest = 1_000
    intent = request(args={"size": 5_000})
    await running.send(intent.SerializeToString(), intent.SerializeToString())
    first, second = running.results.records
    assert first == second
    (short, _) = running.results.results
    assert (short.status, short.outcome) == (Status.ERROR, Outcome.APPLIED)
    assert (short.intent_id, short.attempt) == (intent.intent_id, 1)
    assert short.payload == b""
    assert "for its size: 5" in short.error_message
    assert running.intents.committed(0) == 2


async def test_a_result_that_is_too_large_even_in_short_is_put_aside_and_holds_nothing_up(
    running: Running,
) -> None:
    running.results.largest = 10
    value = request().SerializeToString()
    await running.send(value)
    assert not running.results.records
    ((key, letter, headers),) = running.dead_letters.records
    assert (key, letter) == (b"acct-1", value)
    assert dict(headers)["beam-agents-dead-letter-reason"] == b"result_too_large"
    assert running.intents.committed(0) == 1


async def test_log_lines_about_an_intent_name_it_in_their_fields(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    running.results.largest = 1_000
    intent = request(args={"size": 5_000})
    await running.send(intent.SerializeToString())
    (line,) = caplog.records
    named = {name: getattr(line, name) for name in ("intent_id", "attempt", "phase")}
    assert named == {"intent_id": intent.intent_id, "attempt": 1, "phase": "publish"}


async def test_an_approval_request_that_is_too_large_is_rejected(running: Running) -> None:
    running.approvals.largest = 10
    await running.send(request(kind=2).SerializeToString())
    (result,) = running.results.results
    assert result.status == Status.REJECTED
    assert running.intents.committed(0) == 1


async def test_a_dead_letter_that_is_too_large_is_logged(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    running.dead_letters.largest = 10
    await running.send(b"\xff" * 100)
    assert running.intents.committed(0) == 1
    assert any("dead letter" in record.message for record in caplog.records)


async def test_a_dead_letter_is_not_committed_before_its_topic_takes_it(running: Running) -> None:
    running.dead_letters.down = True
    await running.send(b"\xff")
    await running.pass_ms(60_000)
    assert running.intents.committed(0) == 0
    running.dead_letters.down = False
    await running.pass_ms(10_000)
    assert running.intents.committed(0) == 1
