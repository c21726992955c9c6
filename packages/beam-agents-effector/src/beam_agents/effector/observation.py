"""Everything that looks on at a worker, put together; without `--http` there is none of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from math import nan

from beam_agents.effector.metered import MeteredSink, MeteredSource, MeteredStore
from beam_agents.effector.metrics import Metrics
from beam_agents.effector.ports import Clock, DedupStore, Sink, Source
from beam_agents.effector.readiness import Readiness
from beam_agents.effector.service import EffectorService
from beam_agents.effector.unfinished import Unfinished
from beam_agents.tools import ToolRegistry

_log = logging.getLogger(__name__)

_PATIENCE_S = 2.0


class Observation:
    """Measures a service; give it the wrapped ports, and `unfinished` as its probe.

    Args:
        registry: Names the tools.
        source: The intents topic.
        store: The dedup store.
        sinks: The other topics, by name.
        clock: The service's clock.
        max_clock_skew_ms: How far the store's clock may be from it.

    Attributes:
        readiness: Whether the service can do its work; there once it is watched.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        source: Source,
        store: DedupStore,
        sinks: dict[str, Sink],
        clock: Clock,
        max_clock_skew_ms: int,
    ) -> None:
        self.metrics = Metrics([tool.name for tool in registry])
        self.unfinished = Unfinished(self.metrics, clock)
        self.source = MeteredSource(source, self.metrics)
        self.store = MeteredStore(store, self.metrics)
        self.sinks = {name: MeteredSink(name, sink, self.metrics) for name, sink in sinks.items()}
        self._clock = clock
        self._max_clock_skew_ms = max_clock_skew_ms
        self.readiness: Readiness

    async def measure_lag(self) -> None:
        """Ask how far behind we are; unknown is shown as nothing, never as it was."""
        try:
            lag: Mapping[str, int] = await asyncio.wait_for(self.source.lag(), _PATIENCE_S)
        except Exception as error:  # whatever a backend raises that cannot be asked
            _log.debug("the lag is not known: %r", error)
            lag = {}
        self.metrics.show_lag(lag)

    def watch(self, service: EffectorService) -> None:
        """Look on at a service that was built on the wrapped ports."""

        def lease_margin_seconds() -> float:
            margin_ms = service.lease_margin_ms
            return nan if margin_ms is None else margin_ms / 1000

        self.readiness = Readiness(
            serving=lambda: service.serving,
            stuck_topics=lambda: service.stuck_topics,
            store=self.store,
            source=self.source,
            sinks=list(self.sinks.items()),
            clock=self._clock,
            max_clock_skew_ms=self._max_clock_skew_ms,
        )
        self.metrics.watch(
            unfinished=lambda: len(self.unfinished),
            oldest_seconds=lambda: self.unfinished.oldest_ms / 1000,
            running_tools=lambda: service.running_tools,
            lease_margin_seconds=lease_margin_seconds,
            stuck_topics=lambda: len(service.stuck_topics),
        )
