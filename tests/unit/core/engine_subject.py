"""The engine as a worker runs it: bundles that commit, and bundles whose worker dies."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from beam_agents._protos import ActivationErrorRecord, ActivationTrace, Completion, ToolIntent
from beam_agents._protos.state_pb2 import KeyState
from beam_agents.core.activation import ActivationEngine
from beam_agents.core.bundle import Input, KeySession, run_together
from beam_agents.core.config import AgentConfig
from beam_agents.core.emissions import Outgoing
from beam_agents.core.metrics import Metric
from beam_agents.core.slots import Slots
from beam_agents.core.state import decode
from tests.unit.core.engine_reference import Happening, place_of
from tests.unit.core.engine_scripts import World

Cells: TypeAlias = "dict[bytes, bytes]"

# On this thread: a hop to the worker's own loop costs more than a whole step.
_LOOP = asyncio.new_event_loop()


class Subject:
    """The engine under test, and the cells of its keys."""

    def __init__(self, config: AgentConfig, world: World) -> None:
        self._world = world
        self._engine = ActivationEngine(world.scripted, config, token=uuid.uuid4().hex)
        self.cells: Cells = {}

    def state(self, key: bytes) -> KeyState:
        """What is kept for a key."""
        state = decode(self.cells.get(key))
        assert isinstance(state, KeyState)
        return state

    def play(self, inboxes: Mapping[bytes, Sequence[Input]]) -> dict[bytes, list[Outgoing]]:
        """Run one bundle, commit it, and return what left, by key."""
        sessions = self._sessions(inboxes)
        _LOOP.run_until_complete(run_together(self._engine, sessions, Slots(len(sessions))))
        for session in sessions:
            if (cell := session.changed_cell()) is not None:
                self.cells[session.key] = cell
        return {each.key: list(_leaving(each)) for each in sessions}

    def die(self, inboxes: Mapping[bytes, Sequence[Input]], at_point: int) -> bool:
        """Run one bundle until its worker dies at that point of a run, if it gets there."""
        return _LOOP.run_until_complete(self._die(self._sessions(inboxes), at_point))

    async def _die(self, sessions: Sequence[KeySession[None]], at_point: int) -> bool:
        self._world.stop_at, reached = at_point, self._world.reached_anew()
        running = run_together(self._engine, sessions, Slots(len(sessions)))
        bundle: asyncio.Future[Any] = asyncio.ensure_future(running)
        await asyncio.wait((bundle, reached), return_when=asyncio.FIRST_COMPLETED)
        bundle.cancel()
        await asyncio.wait((bundle,))
        self._world.stop_at = None
        return reached.done()

    def _sessions(self, inboxes: Mapping[bytes, Sequence[Input]]) -> list[KeySession[None]]:
        sessions = []
        for key, items in inboxes.items():
            session: KeySession[None] = KeySession(key, self.cells.get(key))
            session.inbox.extend((None, item) for item in items)
            sessions.append(session)
        return sessions


def _leaving(session: KeySession[None]) -> Iterator[Outgoing]:
    """Yield what the session emitted, without what is only counted."""
    for _, emissions in session.take():
        for emission in emissions:
            if not isinstance(emission, Metric):
                yield emission


def happening_of(emission: Outgoing) -> Happening | None:
    """An emission in the words of the reference, which does not trace."""
    match emission:
        case bytes():
            return "output", emission
        case Completion():
            return "completion", emission.seq, emission.output
        case ToolIntent():
            return "intent", *place_of(emission), emission.created_at_ms, emission.expires_at_ms
        case ActivationErrorRecord():
            requested, answers = list(emission.requested_intent_ids), len(emission.answers)
            return "error", emission.reason, emission.seq, emission.intent_id, requested, answers
        case ActivationTrace():
            return None


def bytes_of(emission: Outgoing) -> bytes:
    """An emission as it leaves; a trace without the one time that is measured."""
    if isinstance(emission, bytes):
        return emission
    if isinstance(emission, ActivationTrace):
        timeless = ActivationTrace()
        timeless.CopyFrom(emission)
        timeless.ClearField("run_us")
        return timeless.SerializeToString()
    return emission.SerializeToString()
