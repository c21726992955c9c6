"""The engine in a pipeline: a stateful DoFn that only carries.

Beam state, timers and metrics are touched on the bundle's thread alone. What
reaches a bundle is collected, and run together at its end, in one submission to
the activations' thread: a state cell costs about a millisecond in a real worker,
so each key's is read once and written once a bundle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
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
from apache_beam.utils.windowed_value import WindowedValue

from beam_agents._protos import ActivationErrorRecord, AgentEnvelope, Completion, ToolIntent
from beam_agents.core import key_states, loop
from beam_agents.core.activation import ActivationEngine
from beam_agents.core.agent import Agent
from beam_agents.core.bundle import Input, KeySession, run_together
from beam_agents.core.clock import next_due_ms
from beam_agents.core.config import AgentConfig
from beam_agents.core.emissions import Output
from beam_agents.core.metrics import NAMESPACE, Metric
from beam_agents.core.state import Unreadable

OUTPUT, INTENTS, ERRORS, COMPLETIONS = "output", "intents", "errors", "completions"
_TAG_OF = {ToolIntent: INTENTS, ActivationErrorRecord: ERRORS, Completion: COMPLETIONS}
_WINDOWS = (GlobalWindow(),)


class _BeamKey(KeySession[WindowedValue]):
    """A key's session with its handles: they still work when the bundle finishes."""

    __slots__ = ("cell_handle", "timer")

    def __init__(
        self, key: bytes, cell_handle: ReadModifyWriteRuntimeState, timer: RuntimeTimer, ns: str
    ) -> None:
        cell = cell_handle.read()
        backup = key_states.installed() if not cell else None
        restored = backup.load(ns, key) if backup is not None else None
        super().__init__(key, restored if restored is not None else cell)
        if restored is not None and not isinstance(self.state, Unreadable):
            self.state.ClearField("armed_ms")  # this runner has no timer for it yet
        self.cell = cell  # what the runner has: a restored state is written to it
        self.cell_handle = cell_handle
        self.timer = timer


class RunAgentDoFn(beam.DoFn):
    """Processes `(key, AgentEnvelope)`; emits outputs, and the rest by tag."""

    CELL = ReadModifyWriteStateSpec("key_state", BytesCoder())
    TIMER = TimerSpec("due", TimeDomain.WATERMARK)
    _CELL = beam.DoFn.StateParam(CELL)
    _TIMER = beam.DoFn.TimerParam(TIMER)

    def __init__(self, agent: Agent, config: AgentConfig, token: str) -> None:
        self.namespace = config.namespace  # by it the live loop finds the keys that it restored
        self._agent = agent
        self._config = config
        self._token = token

    def setup(self) -> None:
        """Make the engine; the expensive parts are the process's own."""
        self._engine = ActivationEngine(self._agent, self._config, self._token)

    def start_bundle(self) -> None:
        """Forget what an attempt that failed had collected."""
        self._keys: dict[bytes, _BeamKey] = {}

    def process(
        self,
        element: tuple[bytes, AgentEnvelope],
        cause: Any = beam.DoFn.WindowedValueParam,
        cell: Any = _CELL,
        timer: Any = _TIMER,
    ) -> None:
        """Collect an envelope."""
        key, envelope = element
        self._collect(key, envelope, cause, cell, timer)

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
        self._collect(key, at_ms, WindowedValue(None, timestamp, _WINDOWS), cell, timer)

    def _collect(
        self,
        key: bytes,
        item: Input,
        cause: WindowedValue,
        cell: ReadModifyWriteRuntimeState,
        timer: RuntimeTimer,
    ) -> None:
        session = self._keys.get(key)
        if session is None:
            session = self._keys[key] = _BeamKey(key, cell, timer, self.namespace)
        session.inbox.append((cause, item))

    def finish_bundle(self) -> Iterator[Any]:
        """Run the agent for all that was collected, then write, arm and emit."""
        sessions = list(self._keys.values())
        if not sessions:
            return
        loop.run(run_together(self._engine, sessions, self._config.max_concurrent_activations))
        metrics: Counter[Metric] = Counter()
        for session in sessions:
            for cause, emission in session.emissions:
                match emission:
                    case Metric():
                        metrics[emission] += 1
                    case Output(value):
                        yield cause.with_value(value)
                    case _:
                        yield TaggedOutput(_TAG_OF[type(emission)], cause.with_value(emission))
        for metric, times in metrics.items():
            Metrics.counter(NAMESPACE, metric.value).inc(times)
        self._write(sessions)

    def _write(self, sessions: list[_BeamKey]) -> None:
        written: dict[bytes, bytes] = {}
        for session in sessions:
            _arm(session, self._config.ttl_ms)
            cell = session.changed_cell()
            if cell is not None:
                session.cell_handle.write(cell)
                written[session.key] = cell
        backup = key_states.installed()
        if backup is not None and written:
            backup.save(self.namespace, written)


def _arm(session: _BeamKey, ttl_ms: int) -> None:
    """Set the key's timer if it must fire earlier than it will.

    One that fires too early finds nothing due, and is set again then: a busy key
    does not pay for a timer with each of its events.
    """
    state = session.state
    if isinstance(state, Unreadable):
        return
    fired_ms = max((item for _, item in session.inbox if isinstance(item, int)), default=None)
    if fired_ms is not None and state.HasField("armed_ms") and state.armed_ms <= fired_ms:
        state.ClearField("armed_ms")
    due_ms = next_due_ms(state, ttl_ms)
    if due_ms is not None and not (state.HasField("armed_ms") and state.armed_ms <= due_ms):
        session.timer.set(Timestamp(micros=due_ms * 1000))
        state.armed_ms = due_ms
