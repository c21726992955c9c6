"""The event loop of a worker process, as the bundle's thread sees it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from beam_agents.core import loop, stalls
from beam_agents.core.stalls import Stall


async def thread_name() -> str:
    return threading.current_thread().name


def test_all_activations_share_one_thread_of_their_own() -> None:
    names = {loop.run(thread_name()) for _ in range(3)}

    assert names == {"beam-agents-activations"}


def test_an_interrupted_bundle_leaves_nothing_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalls, "PERIOD_S", 0.01)
    let_go, ended = threading.Event(), threading.Event()

    async def waits_for_ever() -> None:
        let_go.wait(60)  # until the waiting thread looks up
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    def interrupt(stall: Stall) -> None:
        let_go.set()
        raise KeyboardInterrupt  # as a worker is told to stop

    with pytest.raises(KeyboardInterrupt):
        loop.run(waits_for_ever(), on_stall=interrupt)

    assert ended.wait(60)


@pytest.mark.parametrize("harm", ["exit", "stop"])
def test_a_stray_task_cannot_end_the_loop(harm: str, caplog: pytest.LogCaptureFixture) -> None:
    async def strays() -> str:
        async def stray() -> None:
            if harm == "stop":
                asyncio.get_running_loop().stop()
            else:
                raise SystemExit(4)

        await asyncio.wait([asyncio.ensure_future(stray())])
        return "went on"

    assert loop.run(strays()) == "went on"
    assert loop.run(thread_name()) == "beam-agents-activations"
