"""One worker: fetches intents, runs them through the phases in lanes, and shuts down in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine
from contextlib import AsyncExitStack, suppress
from typing import Any

from beam_agents.effector.assembly import Engine, Ports
from beam_agents.effector.clock import SystemClock
from beam_agents.effector.commits import LOG_SILENT
from beam_agents.effector.config import EffectorOptions
from beam_agents.effector.errors import OperatorError
from beam_agents.effector.lanes import Lanes
from beam_agents.effector.ports import Clock, DedupStore, Delivery, Sink, Source
from beam_agents.effector.preconditions import broken_preconditions
from beam_agents.effector.probe import Probe
from beam_agents.effector.tasks import Tasks
from beam_agents.effector.verification import Refused
from beam_agents.intents.keyring import Keyring
from beam_agents.intents.signing import Signer
from beam_agents.tools import ToolRegistry

_log = logging.getLogger(__name__)

_FETCH_RETRY_MS = 1_000
_CLOSE_S = 10.0


class EffectorService:
    """Performs the intents of one source, until it is stopped.

    Args:
        registry: The tools.
        source: Where intents come from.
        results: Where terminal results go.
        store: Agrees on one claim and one result per intent.
        options: See `EffectorOptions`.
        approvals: Where approval requests go; without it they are rejected.
        dead_letters: Where records go that cannot be handled; without it they are logged.
        intent_keys: Verify intents, as `options.verify_intents` says.
        approval_keys: Verify approval grants.
        signer: Signs results; without it they go out unsigned.
        refused_tools: Names the tools not to run now; asked before each run.
        clock: Time.
        probe: Looks on.

    Raises:
        OperatorError: The registry cannot be served with these options and keys.
    """

    def __init__(
        self,
        *,
        registry: ToolRegistry,
        source: Source,
        results: Sink,
        store: DedupStore,
        options: EffectorOptions | None = None,
        approvals: Sink | None = None,
        dead_letters: Sink | None = None,
        intent_keys: Keyring | None = None,
        approval_keys: Keyring | None = None,
        signer: Signer | None = None,
        refused_tools: Callable[[], Collection[str]] = tuple,
        clock: Clock | None = None,
        probe: Probe | None = None,
    ) -> None:
        self._options = options or EffectorOptions()
        broken = list(
            broken_preconditions(registry, self._options, approval_keys=approval_keys is not None)
        )
        if broken:
            raise OperatorError("; ".join(broken))
        self._ports = Ports(
            registry=registry,
            source=source,
            results=results,
            store=store,
            approvals=approvals,
            dead_letters=dead_letters,
            intent_keys=intent_keys,
            approval_keys=approval_keys,
            signer=signer,
            refused_tools=refused_tools,
            clock=clock or SystemClock(),
            probe=Probe() if probe is None else probe,
        )
        self._engine = Engine(self._ports, self._options, self._start)
        self._lanes = Lanes(self._engine.course.run, start=self._start_hosting)
        self._burials: set[asyncio.Task[None]] = set()
        self._tasks: Tasks | None = None
        self._opened = False
        self._stop = asyncio.Event()
        self._stop_now = asyncio.Event()

    @property
    def running_tools(self) -> int:
        """How many tools run now, those given up included."""
        return len(self._engine.calls)

    @property
    def stuck_topics(self) -> list[str]:
        """The topics that do not take a record now; nothing is fetched meanwhile."""
        return [each.name for each in self._engine.publishers if each.is_stuck]

    @property
    def lease_margin_ms(self) -> int | None:
        """How long the claim that ends first still counts; None without any."""
        return self._engine.leases.margin_ms

    @property
    def serving(self) -> bool:
        """Whether every port is open, and nobody has asked the service to stop."""
        return self._opened and not self._stop.is_set()

    def stop(self) -> None:
        """Ask `run` to end: gracefully at the first call, at once at the second."""
        if self._stop.is_set():
            self._stop_now.set()
        self._stop.set()

    async def run(self) -> None:
        """Open every port, work until `stop`, and close them again.

        Raises:
            EffectorError: What the operator must mend.
            Exception: Whatever broke a part of the service: it never goes on without a part.
        """
        self._tasks = Tasks()
        async with AsyncExitStack() as opened:
            await self._open(opened)
            # These work on until nothing needs them any more: leases are renewed to the last.
            background = [
                self._start(self._engine.alarms.run()),
                self._start(self._engine.commits.run()),
            ]
            try:
                fetching = self._start(self._fetch())
                await self._tasks.first(self._stop.wait())
                await self._tasks.end(fetching)
                await self._drain()
            finally:
                await self._tasks.end_all(but=background)
                await self._tasks.end_all()
                self._engine.threads.close()

    async def _open(self, opened: AsyncExitStack) -> None:
        ports = self._ports
        needed: list[DedupStore | Sink] = [ports.store, *ports.sinks]
        for port in needed:
            await port.open()
            opened.push_async_callback(_close, port)
        await opened.enter_async_context(ports.registry.lifespan())
        await ports.source.open(self._lose)
        opened.push_async_callback(_close, ports.source)
        self._opened = True

    async def _fetch(self) -> None:
        while True:
            for publisher in self._engine.publishers:
                await publisher.flowing()
            try:
                deliveries = await self._ports.source.fetch()
            except LOG_SILENT as error:
                _log.warning("the intents topic cannot be read, trying again: %s", error)
                await self._ports.clock.sleep(_FETCH_RETRY_MS)
                continue
            for delivery in deliveries:
                self._accept(delivery)

    def _accept(self, delivery: Delivery) -> None:
        self._engine.partitions.arrived(delivery)
        work = self._engine.phases.verify(delivery)
        if isinstance(work, Refused):
            burial = self._start(self._engine.course.bury(delivery, work))
            self._burials.add(burial)
            burial.add_done_callback(self._burials.discard)
        else:
            self._lanes.add(work)

    def _lose(self, partitions: Collection[str]) -> None:
        """Drop what waits of partitions that another worker has now; what runs, runs on."""
        _log.info("lost partitions: %s", ", ".join(sorted(partitions)))
        self._engine.partitions.lost(partitions)
        self._ports.probe.lose(partitions)
        self._lanes.withdraw(frozenset(partitions))

    async def _drain(self) -> None:
        """Let running tools end, within the grace; what was not started is handed back at once."""
        assert self._tasks is not None  # noqa: S101 - run() made them
        self._lanes.withdraw()
        clock, options = self._ports.clock, self._options
        await self._tasks.first(
            self._emptied(), self._stop_now.wait(), clock.sleep(options.shutdown_grace_ms)
        )
        # What still runs is left to its lease; tools get a moment to hear of it.
        await self._tasks.first(
            self._abandoned(), self._stop_now.wait(), clock.sleep(options.store_call_timeout_ms)
        )
        with suppress(*LOG_SILENT):
            await self._engine.commits.flush()

    async def _emptied(self) -> None:
        await self._lanes.emptied()
        if self._burials:
            await asyncio.wait(self._burials)

    async def _abandoned(self) -> None:
        await self._engine.calls.abandon()
        await self._emptied()

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._running().start(coroutine)

    def _start_hosting(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self._running().start_hosting(coroutine)

    def _running(self) -> Tasks:
        if self._tasks is None:
            raise RuntimeError("the service does not run")
        return self._tasks


async def _close(port: DedupStore | Sink | Source) -> None:
    """Close a port, and never hang in it: the service may be ending because it broke."""
    try:
        await asyncio.wait_for(port.aclose(), _CLOSE_S)
    except (OSError, asyncio.TimeoutError) as error:
        _log.warning("closing %s failed: %r", type(port).__name__, error)
