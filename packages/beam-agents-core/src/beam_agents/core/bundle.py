"""The keys of one bundle: each state read once, all run together, each written once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from beam_agents._protos import ActivationErrorRecord, AgentEnvelope
from beam_agents._protos.state_pb2 import KeyState
from beam_agents.core.activation import ActivationEngine
from beam_agents.core.emissions import Emission
from beam_agents.core.invocation import ABANDONED
from beam_agents.core.metrics import Metric
from beam_agents.core.slots import Slots
from beam_agents.core.state import Unreadable, decode, encode

Stamp = TypeVar("Stamp")
Input: TypeAlias = "AgentEnvelope | int"  # an envelope, or the time of a timer


@dataclass(slots=True)
class KeySession(Generic[Stamp]):
    """One key during one bundle.

    Attributes:
        key: The raw key.
        cell: Its state as read.
        state: The same, parsed; edited by the engine.
        inbox: What reached the key, in order, each with the runner's stamp.
        emissions: What came of each, with the stamp of what caused it.
    """

    key: bytes
    cell: bytes | None
    state: KeyState | Unreadable = field(init=False)
    inbox: list[tuple[Stamp, Input]] = field(default_factory=list)
    emissions: list[tuple[Stamp, list[Emission]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state = decode(self.cell)

    def take(self) -> list[tuple[Stamp, list[Emission]]]:
        """Take out the emissions so far."""
        taken, self.emissions = self.emissions, []
        return taken

    def changed_cell(self) -> bytes | None:
        """Return the cell to write, or None where it would be as it was."""
        if isinstance(self.state, Unreadable):
            return None
        cell = encode(self.state)
        return None if cell == (self.cell or encode(KeyState())) else cell


async def run_together(
    engine: ActivationEngine, sessions: Sequence[KeySession[Stamp]], slots: Slots
) -> None:
    """Empty the inboxes: different keys at once, as slots are free; each key in order."""
    waiting = iter(sessions)

    async def work() -> None:
        for session in waiting:  # shared: each takes the next key that nobody has taken
            async with slots:  # a key at a time, so that another bundle gets its turn
                await _run_one(engine, session)

    workers = [asyncio.ensure_future(work()) for _ in range(min(slots.limit, len(sessions)))]
    try:
        done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        for worker in done:
            worker.result()
    finally:
        for worker in workers:
            worker.cancel(ABANDONED)


async def _run_one(engine: ActivationEngine, session: KeySession[Stamp]) -> None:
    state = session.state
    for stamp, item in session.inbox:
        if isinstance(state, Unreadable):
            emissions = _untouched(engine.namespace, session.key, state, item)
        elif isinstance(item, int):
            emissions = await engine.on_time(session.key, state, item)
        else:
            emissions = await engine.on_envelope(session.key, state, item)
        session.emissions.append((stamp, emissions))
    session.inbox.clear()


def _untouched(namespace: str, key: bytes, unreadable: Unreadable, item: Input) -> list[Emission]:
    """Report an envelope of a key whose state must stay as it is."""
    if isinstance(item, int):
        return []
    record = ActivationErrorRecord(
        entity_key=key,
        reason=unreadable.reason,
        detail=unreadable.detail,
        event_time_ms=item.event_time_ms,
        envelope=item,
        namespace=namespace,
    )
    return [record, Metric.ERRORS]
