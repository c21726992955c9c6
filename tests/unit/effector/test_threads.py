from __future__ import annotations

import asyncio
import contextvars
import threading

from beam_agents.effector.threads import Threads

name = contextvars.ContextVar("name", default="unset")


async def test_a_function_runs_on_a_thread_of_ours_in_the_callers_context() -> None:
    threads = Threads(1)
    name.set("refund")
    assert threads.seats.take_now()
    call = threads.start(lambda: (threading.current_thread().name, name.get()))
    assert await call.ended == ("beam-agents-tool-1", "refund")
    threads.close()


async def test_a_seat_is_free_again_when_its_call_has_ended() -> None:
    threads = Threads(1)
    assert threads.seats.take_now()
    call = threads.start(int)
    assert not threads.seats.take_now()
    await call.ended
    assert threads.seats.take_now()
    threads.close()


async def test_threads_are_used_again() -> None:
    threads = Threads(3)
    names = set()
    for _ in range(5):
        assert threads.seats.take_now()
        names.add(await threads.start(lambda: threading.current_thread().name).ended)
    assert len(names) == 1
    threads.close()


async def test_a_call_left_behind_gives_its_seat_back_once() -> None:
    threads, release = Threads(1), threading.Event()
    assert threads.seats.take_now()
    call = threads.start(release.wait)
    call.leave_behind()
    assert threads.seats.take_now()
    assert not threads.seats.take_now()
    release.set()
    await call.ended
    assert not threads.seats.take_now()
    threads.close()


async def test_threads_end_when_they_are_closed() -> None:
    threads = Threads(1)
    assert threads.seats.take_now()
    thread = await threads.start(threading.current_thread).ended
    threads.close()
    await asyncio.get_running_loop().run_in_executor(None, thread.join)
    assert not thread.is_alive()
