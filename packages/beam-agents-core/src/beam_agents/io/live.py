"""The local live runner: a pipeline that reads on until it is stopped, and survives a kill."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from apache_beam.metrics.metric import MetricResults
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
from apache_beam.pipeline import Pipeline
from apache_beam.runners.runner import PipelineResult, PipelineState

from beam_agents.core import key_states
from beam_agents.core.errors import PipelineError
from beam_agents.io.direct_runner import DirectRun, LiveRead, LiveRunner, steps_of
from beam_agents.io.live_loop import LiveLoop
from beam_agents.io.schemes import open_writer
from beam_agents.io.state_file import StateFile
from beam_agents.io.write import Publish

_LOOK_S = 0.05
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class LocalLoopRunner(LiveRunner):
    """Runs agents live in this process, on the topics of an embedded bus.

    After every micro-batch the states of the keys and the positions in all inputs
    are saved together, so a pipeline that was killed goes on where it was: seqs and
    ids continue, suspended keys keep their deadlines, and what it had published
    since the last checkpoint is published again under the same ids.

    For development and for small work on one machine: a bundle costs more the more
    keys there are. Of all stateful steps only `RunAgent` survives a restart.

    Args:
        state: The file that it continues from; made if it is missing.
        batch_size: At most so many records of a topic between two checkpoints.
        clock_ms: The wall clock, by which idle watermarks move.
    """

    def __init__(
        self,
        state: str | os.PathLike[str],
        *,
        batch_size: int = 500,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        super().__init__()
        if batch_size < 1:
            raise PipelineError(f"batch_size must be at least 1, not {batch_size}")
        self._path = state
        self._batch_size = batch_size
        self._clock_ms = clock_ms

    def run_pipeline(self, pipeline: Pipeline, options: PipelineOptions) -> LocalLoopResult:
        """Start the pipeline on a thread, and return at once.

        Raises:
            PipelineError: It has no live source, or another live loop runs in this process.
            StateFileError: Another process runs on the state file.
            TopicUnavailable: A topic cannot be read or written.
        """
        options.view_as(StandardOptions).streaming = True
        if not any(isinstance(step, LiveRead) for step in steps_of(pipeline)):
            raise PipelineError("nothing is read live: begin with beam_agents.io.ReadEvents")
        if key_states.installed() is not None:
            raise PipelineError("another live loop runs in this process: stop it first")
        state = StateFile(self._path)
        try:
            return self._run(pipeline, options, state)
        except BaseException:
            key_states.install(None)
            state.close()
            raise

    def _run(
        self, pipeline: Pipeline, options: PipelineOptions, state: StateFile
    ) -> LocalLoopResult:
        loop = LiveLoop(state, batch_size=self._batch_size, clock_ms=self._clock_ms)
        try:
            for step in steps_of(pipeline):
                if isinstance(step, LiveRead):
                    step.feed = loop.add_feed(step.address)
                elif isinstance(getattr(step, "dofn", None), Publish):
                    open_writer(step.dofn.address)  # what is wrong with it is to be known now
            key_states.install(state)
            return LocalLoopResult(loop, state, self.start(pipeline, options))
        except BaseException:
            loop.close()
            raise


class LocalLoopResult(PipelineResult):
    """A live pipeline that runs."""

    def __init__(self, loop: LiveLoop, state: StateFile, run: DirectRun) -> None:
        super().__init__(PipelineState.RUNNING)  # type: ignore[no-untyped-call]
        self._loop = loop
        self._state_file = state
        self._run = run

    def wait_until_finish(self, duration: int | None = None) -> str:
        """Wait until the pipeline is stopped, and raise what it failed with, if it did.

        On the main thread SIGINT and SIGTERM stop it, after a checkpoint; a second one
        does what it would have done without us.

        Args:
            duration: Wait at most so many milliseconds.

        Returns:
            The state: `RUNNING` where the time was up first.
        """
        with _stopping_on_signals(self._loop):
            return self._wait(duration, PipelineState.DONE)

    def cancel(self) -> str:
        """Stop the pipeline after a checkpoint, and wait for that."""
        self._loop.stop()
        return self._wait(None, PipelineState.CANCELLED)

    def metrics(self) -> MetricResults:
        """Return the metrics, of which this runner loses many."""
        return self._run.metrics()

    def _wait(self, duration: int | None, state_when_stopped: str) -> str:
        give_up = None if duration is None else time.monotonic() + duration / 1000
        while not PipelineState.is_terminal(self._state):
            if self._loop.stopped.wait(_LOOK_S):
                self._end(state_when_stopped)
            elif (failure := self._run.failure()) is not None:
                self._end(PipelineState.FAILED)
                raise failure
            elif give_up is not None and time.monotonic() >= give_up:
                break
        return str(self._state)

    def _end(self, state: str) -> None:
        self._run.shut_down()
        key_states.install(None)
        self._loop.close()
        self._state_file.close()
        self._state = state


@contextmanager
def _stopping_on_signals(loop: LiveLoop) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.getsignal(number) for number in _STOP_SIGNALS}

    def restore() -> None:
        for number, action in previous.items():
            signal.signal(number, action)

    def stop(number: int, frame: Any) -> None:
        loop.stop()
        restore()

    for number in _STOP_SIGNALS:
        signal.signal(number, stop)
    try:
        yield
    finally:
        restore()
