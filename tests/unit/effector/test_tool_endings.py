"""Whatever a tool does, its intent has one terminal result and the next intent runs."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, NoReturn

import pytest

from beam_agents._protos import ToolResult
from beam_agents.effector.testing.harness import EffectorHarness
from beam_agents.intents import Outcome, Status
from beam_agents.tools import NotApplied, Retryable, ToolRegistry, tool
from tests.unit.effector.requests import Gate, request


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


async def endless() -> AsyncIterator[int]:
    while True:
        yield 1


def raising(error: BaseException) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise error

    return fail


def registry(function: Callable[..., Any], **options: Any) -> ToolRegistry:
    @tool(side_effect=True)
    async def fine() -> None: ...

    charge: Callable[..., Any] = tool(name="charge", side_effect=True, **options)
    return ToolRegistry(charge(function), fine)


async def run(tools: ToolRegistry, **settings: Any) -> tuple[EffectorHarness, ToolResult]:
    """Run `charge` and then `fine` for one key."""
    async with EffectorHarness(tools, **settings) as effector:
        await effector.deliver(request())
        await effector.deliver(request("fine", seq=1))
        await effector.settle()
        first, second = effector.results
        assert second.status == Status.OK
        assert effector.committed() == 2
        return effector, first


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("boom"),
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError(),
        StopIteration(),
        Unspeakable(),
        ConnectionError("of the tool, not of the store"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_tool_that_raises_anything_gives_an_error(
    error: BaseException, is_async: bool
) -> None:
    fail = raising(error)

    async def fail_async() -> None:
        await asyncio.sleep(0)
        fail()

    effector, result = await run(registry(fail_async if is_async else fail))
    assert (result.status, result.outcome) == (Status.ERROR, Outcome.UNKNOWN)
    # A coroutine cannot let StopIteration out; Python makes a RuntimeError of it.
    assert type(error).__name__ in result.error_message
    assert effector.calls("charge") == 1


async def test_the_text_of_an_error_is_bounded_and_shows_no_credentials() -> None:
    fail = raising(ValueError("redis://user:secret@host/0 " + "x" * 100_000))
    _, result = await run(registry(fail))
    assert "secret" not in result.error_message
    assert result.error_message.startswith("ValueError: redis://")
    assert len(result.error_message) < 3_000


async def test_the_text_of_an_error_can_be_left_to_the_log() -> None:
    _, result = await run(registry(raising(ValueError("private"))), error_detail="type")
    assert result.error_message == "ValueError"


async def test_a_text_that_no_utf8_holds_still_becomes_an_error() -> None:
    _, result = await run(registry(raising(ValueError("lone \ud800 surrogate"))))
    assert result.status == Status.ERROR


@pytest.mark.parametrize(
    "value",
    [object(), {1: "key"}, float("nan"), (n for n in "ab"), endless(), b"bytes"],
    ids=lambda value: type(value).__name__,
)
async def test_a_value_that_cannot_be_sent_gives_an_error_for_an_effect_that_happened(
    value: object,
) -> None:
    _, result = await run(registry(lambda: value))
    assert (result.status, result.outcome) == (Status.ERROR, Outcome.APPLIED)


async def test_a_value_that_is_too_large_gives_a_bounded_error() -> None:
    _, result = await run(registry(lambda: "x" * 50_000_000))
    assert (result.status, result.outcome) == (Status.ERROR, Outcome.APPLIED)
    assert "50000002 bytes" in result.error_message
    assert result.ByteSize() < 1_000


async def test_a_coroutine_behind_a_plain_function_is_awaited() -> None:
    ran = []

    async def hidden() -> str:
        ran.append(threading.current_thread())
        return "done"

    def plain() -> object:
        return hidden()

    class Hidden:
        async def __call__(self) -> str:
            return await hidden()

    for function in (plain, Hidden(), functools.partial(hidden)):
        _, result = await run(registry(function))
        assert (result.status, result.payload) == (Status.OK, b'"done"')
    assert ran == [threading.main_thread()] * 3


@pytest.mark.parametrize("returned", [True, False], ids=["returned", "raised"])
async def test_a_tool_may_know_that_its_effect_did_not_happen(returned: bool) -> None:
    async def decline() -> object:
        answer = NotApplied("card declined", detail={"code": 51})
        if returned:
            return answer
        raise answer

    _, result = await run(registry(decline))
    assert (result.status, result.outcome) == (Status.ERROR, Outcome.NOT_APPLIED)
    assert "card declined" in result.error_message
    assert result.payload == b'{"code":51}'


async def test_a_tool_is_run_again_while_it_asks_for_it_and_there_is_time() -> None:
    runs = 0

    async def charge() -> str:
        nonlocal runs
        runs += 1
        if runs < 3:
            raise Retryable("try later", retry_after_ms=1_000)
        return "done"

    async with EffectorHarness(registry(charge)) as effector:
        await effector.deliver(request())
        await effector.advance(1_999)
        assert (runs, effector.results) == (2, [])
        await effector.advance(1)
        (result,) = effector.results
        assert (result.status, result.attempt, runs) == (Status.OK, 1, 3)


@pytest.mark.parametrize(("timeout_ms", "ttl_ms"), [(5_000, 60_000), (60_000, 5_000)])
async def test_a_tool_is_run_again_only_within_its_timeout_and_its_deadline(
    timeout_ms: int, ttl_ms: int
) -> None:
    async def charge() -> None:
        raise Retryable("busy", retry_after_ms=2_000, outcome=Outcome.NOT_APPLIED)

    async with EffectorHarness(registry(charge, timeout_ms=timeout_ms)) as effector:
        await effector.deliver(request(ttl_ms=ttl_ms))
        await effector.advance(120_000)
        (result,) = effector.results
        assert (result.status, result.outcome) == (Status.ERROR, Outcome.NOT_APPLIED)
        assert "busy" in result.error_message
        assert effector.calls("charge") == 3


class TestTimeouts:
    async def test_a_tool_is_stopped_when_its_time_is_up(self) -> None:
        gate = Gate()
        async with EffectorHarness(gate.registry, tool_timeout_ms=5_000) as effector:
            await effector.deliver(request())
            await effector.advance(4_999)
            assert (effector.results, gate.cancelled) == ([], 0)
            await effector.advance(1)
            (result,) = effector.results
            assert (result.status, result.outcome) == (Status.ERROR, Outcome.UNKNOWN)
            assert "5000 ms" in result.error_message
            assert gate.cancelled == 1

    async def test_a_tools_own_timeout_goes_before_the_setting(self) -> None:
        gate = Gate(timeout_ms=1_000)
        async with EffectorHarness(gate.registry, tool_timeout_ms=5_000) as effector:
            await effector.deliver(request())
            await effector.advance(1_000)
            assert [result.status for result in effector.results] == [Status.ERROR]

    async def test_a_tool_that_ignores_its_cancellation_holds_its_key_for_one_more_timeout(
        self,
    ) -> None:
        released = asyncio.Event()

        async def stubborn() -> None:
            while not released.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await released.wait()

        async with EffectorHarness(registry(stubborn), tool_timeout_ms=5_000) as effector:
            await effector.deliver(request())
            await effector.deliver(request("fine", seq=1))
            await effector.advance(5_000)
            assert [result.seq for result in effector.results] == [0]
            assert effector.committed() == 1
            await effector.advance(4_999)
            assert [result.seq for result in effector.results] == [0]
            await effector.advance(1)
            assert [result.seq for result in effector.results] == [0, 1]
            released.set()

    async def test_a_tool_that_obeys_its_cancellation_does_not_hold_its_key(self) -> None:
        async def obedient() -> None:
            await asyncio.Event().wait()

        async with EffectorHarness(registry(obedient), tool_timeout_ms=5_000) as effector:
            await effector.deliver(request())
            await effector.deliver(request("fine", seq=1))
            await effector.advance(5_000)
            assert [result.seq for result in effector.results] == [0, 1]


@pytest.fixture
async def blocked() -> AsyncIterator[threading.Event]:
    release = threading.Event()
    yield release
    release.set()


class TestBlockingTools:
    async def test_a_blocking_tool_does_not_stop_the_loop(self, blocked: threading.Event) -> None:
        tools = registry(lambda: blocked.wait() and None)
        async with EffectorHarness(tools) as effector:
            await effector.deliver(request(key=b"A"))
            await effector.deliver(request("fine", key=b"B"), partition=1)
            await effector.settle()
            assert [result.entity_key for result in effector.results] == [b"B"]
            blocked.set()
            await effector.settle()
            assert [result.entity_key for result in effector.results] == [b"B", b"A"]

    async def test_a_blocking_tool_is_left_behind_when_its_time_is_up(
        self, blocked: threading.Event
    ) -> None:
        tools = registry(lambda: blocked.wait() and None)
        async with EffectorHarness(tools, tool_timeout_ms=5_000) as effector:
            await effector.deliver(request())
            await effector.deliver(request("fine", seq=1))
            await effector.advance(5_000)
            assert [result.status for result in effector.results] == [Status.ERROR]
            blocked.set()
            await effector.settle()
            assert [result.status for result in effector.results] == [Status.ERROR, Status.OK]

    async def test_waiting_for_a_thread_takes_no_time_from_the_tool(
        self, blocked: threading.Event
    ) -> None:
        def charge(n: int) -> int:
            if n == 0:
                blocked.wait()
            return n

        async with EffectorHarness(
            registry(charge), sync_threads=1, tool_timeout_ms=60_000
        ) as effector:
            await effector.deliver(request(args={"n": 0}, key=b"A"))
            await effector.deliver(request(args={"n": 1}, key=b"B"))
            await effector.advance(59_999)
            blocked.set()
            await effector.settle()
            assert [result.payload for result in effector.results] == [b"0", b"1"]

    async def test_only_the_deadline_ends_the_wait_for_a_thread(
        self, blocked: threading.Event
    ) -> None:
        tools = registry(lambda: blocked.wait() and None)
        async with EffectorHarness(tools, sync_threads=1, tool_timeout_ms=60_000) as effector:
            await effector.deliver(request(key=b"A"))
            await effector.deliver(request(key=b"B", ttl_ms=40_000))
            await effector.advance(40_000)
            (result,) = effector.results
            assert (result.entity_key, result.status) == (b"B", Status.EXPIRED)
            assert result.outcome == Outcome.NOT_APPLIED
            assert effector.calls("charge") == 1

    async def test_threads_left_behind_are_replaced_up_to_a_bound(
        self, blocked: threading.Event
    ) -> None:
        tools = registry(lambda: blocked.wait() and None)
        async with EffectorHarness(
            tools, sync_threads=1, tool_timeout_ms=1_000, shutdown_grace_ms=0
        ) as effector:
            for n in range(3):
                await effector.deliver(request(key=b"%d" % n))
            await effector.advance(30_000)
            assert effector.calls("charge") == 2
            blocked.set()
            await effector.settle()
            assert effector.calls("charge") == 3
