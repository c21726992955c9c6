"""The engine in a pipeline: a stateful DoFn that only carries.

Beam state, timers and metrics are touched on the bundle's thread alone. What
reaches a bundle is collected, and run together in one submission to the
activations' thread: at the bundle's end, or earlier in a large one. A state cell
costs about a millisecond in a real worker, so each key's is read once and written
once a bundle.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import Any

import apache_beam as beam
from apache_beam.coders import BytesCoder
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import (
    ReadModifyWriteRuntimeState,
    ReadModifyWriteStateSpec,
    RuntimeTimer,
    TimerSpec,
    on_timer,
)
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.timestamp import Timestamp
from apache_beam.utils.windowed_value import create

from beam_agents._protos import (
    ActivationErrorRecord,
    ActivationTrace,
    Completion,
    ToolIntent,
)
from beam_agents.core import error_log, key_states, loop
from beam_agents.core.activation import ActivationEngine
from beam_agents.core.agent import Agent
from beam_agents.core.bundle import Input, KeySession, run_together
from beam_agents.core.clock import next_due_ms
from beam_agents.core.config import AgentConfig
from beam_agents.core.gathering import Gathered
from beam_agents.core.metrics import NAMESPACE, Metric
from beam_agents.core.slots import slots_of
from beam_agents.core.stalls import Stall
from beam_agents.core.state import Unreadable

OUTPUT, INTENTS, ERRORS = "output", "intents", "errors"
COMPLETIONS, TRACES = "completions", "traces"
_TAG_OF = {
    ToolIntent: INTENTS,
    ActivationErrorRecord: ERRORS,
    Completion: COMPLETIONS,
    ActivationTrace: TRACES,
}
_WINDOWS = (GlobalWindow(),)
_log = logging.getLogger(__name__)
_STALLED = (
    "agent %r waits for an event loop that has stood still for %.1f s: something blocks it, and "
    "with it every activation of this worker; await it, or call asyncio.to_thread. It is at\n%s"
)
# Run what was collected at this many, so that a large bundle does not fill the memory.
_RUN_AT = 1_000


class _BeamKey(KeySession[int]):
    """A key's session with its handles: they still work when the bundle finishes.

    What reached the key is stamped by the timestamp of its element, in microseconds.
    """

    __slots__ = ("cell_handle", "timer")

    def __init__(
        self,
        key: bytes,
        cell_handle: ReadModifyWriteRuntimeState,
        timer: RuntimeTimer,
        namespace: str,
    ) -> None:
        cell = cell_handle.read()
        backup = key_states.installed() if not cell else None
        restored = backup.load(namespace, key) if backup is not None else None
        super().__init__(key, cell if restored is None else restored)
        if restored is not None and not isinstance(self.state, Unreadable):
            self.state.ClearField("armed_ms")  # this runner has no timer for it yet
        self.cell = cell  # what the runner has: a restored state is written to it
        self.cell_handle = cell_handle
        self.timer = timer

    def note_firing(self, at_ms: int) -> None:
        """Keep that the timer is no longer set, unless this is an older setting of it."""
        state = self.state
        if not isinstance(state, Unreadable) and state.armed_ms <= at_ms:
            state.ClearField("armed_ms")

    def arm(self, ttl_ms: int) -> None:
        """Set the timer if it must fire earlier than it will.

        One that fires too early finds nothing due, and is set again then: a busy
        key does not pay for a timer with each of its events.
        """
        state = self.state
        if isinstance(state, Unreadable):
            return
        due_ms = next_due_ms(state, ttl_ms)
        if due_ms is None or (state.HasField("armed_ms") and state.armed_ms <= due_ms):
            return
        self.timer.set(Timestamp(micros=due_ms * 1000))
        state.armed_ms = due_ms


class RunAgentDoFn(beam.DoFn):
    """Processes `(key, EnvelopeBatch)`; emits outputs, and the rest by tag."""

    CELL = ReadModifyWriteStateSpec("key_state", BytesCoder())
    TIMER = TimerSpec("due", TimeDomain.WATERMARK)
    _CELL = beam.DoFn.StateParam(CELL)
    _TIMER = beam.DoFn.TimerParam(TIMER)

    def __init__(self, agent: Agent, config: AgentConfig, token: str) -> None:
        self.namespace = config.namespace  # by it the live loop finds the keys that it restored
        self._agent = agent
        self._agent_name = getattr(agent, "__qualname__", type(agent).__name__)
        self._config = config
        self._token = token
        self._running: Future[None] | None = None
        self._is_down = False

    def setup(self) -> None:
        """Make the engine; the expensive parts are the process's own."""
        self._engine = ActivationEngine(self._agent, self._config, self._token)
        self._slots = slots_of(self._token, self._config.max_concurrent_activations)

    def teardown(self) -> None:
        """Cancel what still runs: nobody will take what comes of it."""
        self._is_down = True
        if self._running is not None:
            self._running.cancel()

    def start_bundle(self) -> None:
        """Forget what an attempt that failed had collected."""
        self._keys: dict[bytes, _BeamKey] = {}
        self._waiting: list[_BeamKey] = []
        self._collected = 0
        self._metrics: Counter[Metric] = Counter()

    def process(
        self,
        element: Gathered,
        cell: Any = _CELL,
        timer: Any = _TIMER,
    ) -> Iterable[Any] | None:
        """Collect envelopes."""
        key, batch = element
        session = self._keys.get(key) or self._open(key, cell, timer)
        self._collect(session, zip(batch.timestamps_us, batch.envelopes, strict=True))
        return self._run() if self._collected >= _RUN_AT else None

    @on_timer(TIMER)
    def on_due(
        self,
        key: Any = beam.DoFn.KeyParam,
        timestamp: Any = beam.DoFn.TimestampParam,
        cell: Any = _CELL,
        timer: Any = _TIMER,
    ) -> None:
        """Collect a firing of the key's timer, whichever it is."""
        at_ms = timestamp.micros // 1000
        session = self._keys.get(key) or self._open(key, cell, timer)
        session.note_firing(at_ms)
        self._collect(session, [(timestamp.micros, at_ms)])

    def finish_bundle(self) -> Iterator[Any]:
        """Run the agent for what is still waiting, then write, arm and count."""
        if self._waiting:
            yield from self._run()
        self._write()
        for metric, times in self._metrics.items():
            Metrics.counter(NAMESPACE, metric.value).inc(times)

    def _open(self, key: bytes, cell: ReadModifyWriteRuntimeState, timer: RuntimeTimer) -> _BeamKey:
        session = self._keys[key] = _BeamKey(key, cell, timer, self.namespace)
        return session

    def _collect(self, session: _BeamKey, items: Iterable[tuple[int, Input]]) -> None:
        inbox = session.inbox
        if not inbox:
            self._waiting.append(session)
        before = len(inbox)
        inbox.extend(items)
        self._collected += len(inbox) - before

    def _run(self) -> Iterator[Any]:
        """Run the agent for what was collected, and emit what comes of it."""
        sessions, self._waiting, self._collected = self._waiting, [], 0
        self._running = loop.submit(run_together(self._engine, sessions, self._slots))
        if self._is_down:  # since before there was anything to cancel
            self._running.cancel()
        loop.wait_for(self._running, on_stall=self._warn_of_stall)
        for session in sessions:
            for timestamp_us, emissions in session.take():
                for emission in emissions:
                    if isinstance(emission, Metric):
                        self._metrics[emission] += 1
                    elif isinstance(emission, bytes):
                        yield create(emission, timestamp_us, _WINDOWS)
                    else:
                        if isinstance(emission, ActivationErrorRecord):
                            error_log.of_process.tell(emission)
                        stamped = create(emission, timestamp_us, _WINDOWS)
                        yield TaggedOutput(_TAG_OF[type(emission)], stamped)

    def _warn_of_stall(self, stall: Stall) -> None:
        self._metrics[Metric.LOOP_STALLS] += 1
        _log.warning(_STALLED, self._agent_name, stall.seconds, stall.stack)

    def _write(self) -> None:
        written: dict[bytes, bytes] = {}
        for session in self._keys.values():
            session.arm(self._config.ttl_ms)
            cell = session.changed_cell()
            if cell is not None:
                session.cell_handle.write(cell)
                written[session.key] = cell
        backup = key_states.installed()
        if backup is not None and written:
            backup.save(self.namespace, written)
