"""Hands finished deliveries back to the log, and commits them in batches."""

from __future__ import annotations

import asyncio
import logging

from beam_agents.effector.partitions import Partitions
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import Clock, Delivery, Source
from beam_agents.effector.probe import Probe

_log = logging.getLogger(__name__)

# What a source raises that cannot commit now.
LOG_SILENT = (ConnectionError, TimeoutError, asyncio.TimeoutError)

_RETRY_MS = 1_000


class Commits:
    """Commits what is contiguously finished.

    Args:
        source: Turns finished deliveries into offsets.
        partitions: Told of each finished delivery.
        clock: Times the rest between two commits.
        probe: Told when a commit is durable.
        interval_ms: How long to rest.
    """

    def __init__(
        self,
        source: Source,
        partitions: Partitions,
        clock: Clock,
        probe: Probe,
        *,
        interval_ms: int,
    ) -> None:
        self._source = source
        self._partitions = partitions
        self._clock = clock
        self._probe = probe
        self._interval_ms = interval_ms
        self._finished: list[Delivery] = []
        self._some = asyncio.Event()

    def finish(self, delivery: Delivery) -> None:
        """Hand a delivery back; one of the next commits makes that durable."""
        self._probe.enter(Phase.COMMIT, delivery)
        self._source.done(delivery)
        self._partitions.finished(delivery)
        self._finished.append(delivery)
        self._some.set()

    async def run(self) -> None:
        """Commit whenever something was finished, for ever."""
        while True:
            await self._some.wait()
            try:
                await self.flush()
            except LOG_SILENT as error:
                _log.warning("offsets could not be committed, trying again: %s", error)
                await self._clock.sleep(_RETRY_MS)
            else:
                await self._clock.sleep(self._interval_ms)

    async def flush(self) -> None:
        """Commit what is finished by now.

        Raises:
            ConnectionError: The log did not take it; it stays to be committed.
        """
        finished, self._finished = self._finished, []
        self._some.clear()
        try:
            await self._source.commit()
        except BaseException:
            self._finished = finished + self._finished
            self._some.set()
            raise
        for delivery in finished:
            self._probe.leave(Phase.COMMIT, delivery)
