"""`EffectorHarness`: the real service on an in-memory log, with time in the test's hands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.effector.backends.memory_log import MemoryTopic
from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.dead_letters import DeadLetter
from beam_agents.effector.dedup import RESULT_TTL_MS
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import DedupStore, Headers
from beam_agents.effector.testing.settings import WorkerSettings
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.effector.testing.worker import Crash, Worker
from beam_agents.effector.testing.world import World
from beam_agents.embedded import Record
from beam_agents.intents.topics import type_header
from beam_agents.tools import ToolRegistry

_PARTITIONS = 16
_INTENT_HEADERS = (type_header(ToolIntent),)


class EffectorHarness:
    """Runs a registry's tools as the effector does, in milliseconds a test.

        async with EffectorHarness(registry) as effector:
            await effector.deliver(intent)
            await effector.settle()
            assert effector.results[0].status == ToolResult.OK

    Time stands still but for `advance`; leaving is a graceful stop.

    Args:
        registry: The tools under test.
        store: `"memory"`, or any `DedupStore`; the harness opens and closes it.
        clock: The time, for a store that must share it; by default one of its own.
        settings: Options of the effector by name; see `WorkerSettings.read`.

    Attributes:
        registry: The tools of the next worker: set another, and `restart`, for a new release.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        store: str | DedupStore = "memory",
        clock: SteppedClock | None = None,
        **settings: Any,
    ) -> None:
        self.registry = registry
        self._given = settings
        result_ttl_ms = settings.pop("result_ttl_ms", RESULT_TTL_MS)
        clock = clock or SteppedClock()
        if store == "memory":
            store = MemoryStore(result_ttl_ms=result_ttl_ms, clock=clock)
        if isinstance(store, str):
            raise ValueError(f"no store {store!r}: give 'memory', or a DedupStore")
        self._join(World(store, clock), owns_store=True)

    def _join(self, world: World, *, owns_store: bool) -> None:
        self._world = world
        self._owns_store = owns_store
        self._settings = WorkerSettings.read(self._given)
        self._intents = MemoryTopic("intents", partitions=_PARTITIONS, clock=world.clock)
        self._worker: Worker | None = None
        self._next_crash: Crash | None = None

    async def __aenter__(self) -> EffectorHarness:
        if self._owns_store:
            await self._world.store.open()
        await self.restart()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()
        if self._owns_store:
            await self._world.store.aclose()

    @property
    def now_ms(self) -> int:
        """The time of workers and store."""
        return self._world.clock.now_ms()

    # --- what comes in, and what time does --------------------------------------------------

    async def deliver(
        self,
        record: ToolIntent | bytes | None,
        *,
        key: bytes | None = None,
        partition: int = 0,
        headers: Headers | None = None,
    ) -> None:
        """Append a record to this worker's intents log, as a pipeline would.

        Args:
            record: An intent; or any bytes, or None for a record without value.
            key: The record's key; by default the intent's entity key.
            partition: Where it goes.
            headers: By default the type header of an intent, and none of other records.
        """
        if isinstance(record, ToolIntent):
            key = record.entity_key if key is None else key
            headers = _INTENT_HEADERS if headers is None else headers
            record = record.SerializeToString()
        self._intents.append(key=key, value=record, headers=headers or (), partition=partition)

    async def settle(self) -> None:
        """Return when nothing moves without time passing, threads included.

        Raises:
            Exception: Whatever made a worker fail.
        """
        await self._world.settle()

    async def advance(self, ms: int) -> None:
        """Move the clocks of workers and store on together, through all that is due; settle."""
        clock = self._world.clock
        until_ms = clock.now_ms() + ms
        await self._world.settle()
        while (next_ms := clock.next_wake_ms) is not None and next_ms <= until_ms:
            clock.step(next_ms)
            await self._world.settle(untouched=True)
        clock.step(until_ms)
        await self._world.settle()

    # --- what came out ----------------------------------------------------------------------

    @property
    def results(self) -> list[ToolResult]:
        """The published results, in order, those of all workers together."""
        return [ToolResult.FromString(record.value or b"") for record in self.result_records]

    @property
    def result_records(self) -> list[Record]:
        """The same as records, to compare copies by their bytes."""
        return list(self._world.results.partitions[0])

    @property
    def approvals(self) -> list[Record]:
        """The published approval requests, in order."""
        return list(self._world.approvals.partitions[0])

    @property
    def dead_letters(self) -> list[DeadLetter]:
        """The records put aside, in order."""
        return [
            DeadLetter.read(record.key, record.value, record.headers)
            for record in self._world.dead_letters.partitions[0]
        ]

    def committed(self, partition: int = 0) -> int:
        """Return the next offset that a restart of this worker would read."""
        return self._intents.committed(partition)

    def delivered(self, partition: int = 0) -> int:
        """Count the records in a partition of this worker's intents log."""
        return len(self._intents.partitions[partition])

    def handed_out(self, partition: int = 0) -> int:
        """Count the records that this worker's source has handed out."""
        return 0 if self._worker is None else self._worker.handed_out(partition)

    def calls(self, tool_name: str) -> int:
        """Count the invocations of a tool, over all workers and restarts."""
        return self._world.calls[tool_name]

    @property
    def alive(self) -> bool:
        """Whether the worker runs: it was not killed, and did not end."""
        return self._worker is not None and self._worker.alive

    # --- faults -----------------------------------------------------------------------------

    def crash_at(self, phase: Phase, *, before: bool = True) -> None:
        """Let the next intent to reach a phase, or to leave it, kill the worker.

        Where no worker is alive, that is the one which `restart` starts.
        """
        crash = Crash(phase, before)
        if self._worker is not None and self._worker.alive:
            self._worker.probe.crash = crash
        else:
            self._next_crash = crash

    @contextmanager
    def outage(self, *ports: str) -> Iterator[None]:
        """Put ports out of order while inside, for all workers.

        Args:
            ports: `"store"`, `"intents"`, `"results"`, `"approvals"` or `"dead-letters"`.
        """
        self._world.down.update(ports)
        try:
            yield
        finally:
            self._world.down.difference_update(ports)

    async def kill(self) -> None:
        """Kill the worker now, as SIGKILL does."""
        if self._worker is not None:
            self._worker.kill()
            await self.settle()

    async def restart(self) -> None:
        """Start a new worker on what log and store kept; one that still lives stops first."""
        await self.stop()
        self._worker = Worker(self._world, self._intents, self.registry, self._settings)
        self._worker.probe.crash, self._next_crash = self._next_crash, None
        await self.settle()

    async def stop(self) -> None:
        """Stop the worker gracefully, letting as much time pass as it takes."""
        worker, clock = self._worker, self._world.clock
        if worker is None:
            return
        self.begin_stop()
        await self.settle()
        while not worker.ended:
            clock.step(clock.next_wake_ms or clock.now_ms())
            await self._world.settle(untouched=True)
        self._worker = None

    def begin_stop(self) -> None:
        """Send the worker what SIGTERM is to a process; at the second time it ends at once."""
        if self._worker is not None:
            self._worker.stop()

    def second_worker(self, **settings: Any) -> EffectorHarness:
        """Make another worker, to be entered like this one.

        It has claims and an intents log of its own, and the same store and other
        topics; it handles what is delivered to it.
        """
        second = object.__new__(EffectorHarness)
        second.registry = self.registry
        second._given = {**self._given, **settings}
        second._join(self._world, owns_store=False)
        return second
