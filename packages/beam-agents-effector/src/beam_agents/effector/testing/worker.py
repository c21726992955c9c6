"""One worker under test: the real service, which can be killed at any phase boundary."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from beam_agents._protos import ToolIntent
from beam_agents.effector.backends.memory_log import MemorySource, MemoryTopic
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import (
    DedupStore,
    Delivery,
    Sink,
    SinkUnavailable,
    Source,
    StoreUnavailable,
)
from beam_agents.effector.probe import Probe
from beam_agents.effector.service import EffectorService
from beam_agents.effector.testing.lifeline import Lifeline
from beam_agents.effector.testing.settings import WorkerSettings
from beam_agents.tools import ToolRegistry

if TYPE_CHECKING:
    from beam_agents.effector.testing.world import World


class WorkerKilled(BaseException):
    """Unwinds the service that was killed; its ports have stopped to answer before."""


@dataclass(frozen=True, slots=True)
class Crash:
    """Where a worker dies."""

    phase: Phase
    before: bool


class Worker:
    """A service on a world, and the line that can be cut between them.

    Args:
        world: What it works on.
        intents: The log that it reads.
        registry: Its tools.
        settings: Its settings.
    """

    def __init__(
        self, world: World, intents: MemoryTopic, registry: ToolRegistry, settings: WorkerSettings
    ) -> None:
        self.line = Lifeline(world.down)
        self.probe = _Watch(self, world.calls)
        self._source: MemorySource = intents.source()
        self._world = world
        self._service = EffectorService(
            registry=registry,
            source=self.line.bind("intents", Source, self._source),  # type: ignore[type-abstract]
            results=self._sink(world.results),
            # Opened and closed by the harness: other workers use it too.
            store=self.line.bind(
                "store",
                DedupStore,  # type: ignore[type-abstract]
                world.store,
                error=StoreUnavailable,
                inert={"open", "aclose"},
            ),
            approvals=self._sink(world.approvals) if settings.approvals_to else None,
            dead_letters=self._sink(world.dead_letters) if settings.dead_letters_to else None,
            options=settings.options,
            intent_keys=settings.intent_keys,
            approval_keys=settings.approval_keys,
            signer=settings.signer,
            refused_tools=settings.refused_tools,
            clock=world.clock,
            probe=self.probe,
        )
        self._run = asyncio.ensure_future(self._service.run())
        world.workers.append(self)

    @property
    def running_tools(self) -> int:
        """How many tools run; those of a dead worker do not count."""
        return self._service.running_tools if self.line.alive else 0

    @property
    def alive(self) -> bool:
        """Whether it was not killed, and has not ended."""
        return self.line.alive and not self._run.done()

    @property
    def ended(self) -> bool:
        """Whether the service has ended, well or not."""
        return self._run.done()

    def handed_out(self, partition: int) -> int:
        """Return the offset that is handed out next."""
        return self._source.position(partition)

    def stop(self) -> None:
        """Ask the service to end gracefully."""
        self._service.stop()

    def kill(self) -> None:
        """Die as by SIGKILL: from now on nothing of it reaches the world."""
        self.line.cut()
        self._source.vanish()

    async def bury(self) -> None:
        """End what is left of a dead worker, and hear what the service of a live one raised.

        Raises:
            Exception: The service failed, and not because it was killed.
        """
        while not self.line.alive and not self._run.done():
            self._run.cancel()  # each hanging call has to be cancelled anew
            await asyncio.sleep(0)
        if self._run.done() and self in self._world.workers:
            self._world.workers.remove(self)
            with suppress(WorkerKilled, asyncio.CancelledError):
                self._run.result()

    def _sink(self, topic: MemoryTopic) -> Sink:
        return self.line.bind(
            topic.name,
            Sink,  # type: ignore[type-abstract]
            topic.sink(),
            error=SinkUnavailable,
        )


class _Watch(Probe):
    """Counts invocations, and kills the worker where it was told to."""

    def __init__(self, worker: Worker, calls: Counter[str]) -> None:
        self._worker = worker
        self._calls = calls
        self.crash: Crash | None = None
        self.moves = 0

    def enter(self, phase: Phase, delivery: Delivery) -> None:
        self._reach(Crash(phase, before=True))

    def leave(self, phase: Phase, delivery: Delivery) -> None:
        self._reach(Crash(phase, before=False))

    def invoke(self, intent: ToolIntent) -> None:
        self._calls[intent.tool_name] += 1

    def _reach(self, here: Crash) -> None:
        self.moves += 1
        if not self._worker.line.alive:
            raise WorkerKilled
        if self.crash == here:
            self._worker.kill()
            raise WorkerKilled
