"""Whether a worker can do its work now, and what keeps it from it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from beam_agents.effector.ports import Clock, DedupStore, Sink, Source

_PATIENCE_S = 2.0
_NO_INTENT = "readiness"


class Readiness:
    """Asks store and topics, and compares clocks.

    Args:
        serving: Whether the service has opened its ports, and does not stop.
        stuck_topics: Names the topics that do not take a record.
        store: The dedup store.
        source: The intents topic.
        sinks: The other topics, by name.
        clock: Ours.
        max_clock_skew_ms: How far the store's clock may be from it.
    """

    def __init__(
        self,
        *,
        serving: Callable[[], bool],
        stuck_topics: Callable[[], Sequence[str]],
        store: DedupStore,
        source: Source,
        sinks: Sequence[tuple[str, Sink]],
        clock: Clock,
        max_clock_skew_ms: int,
    ) -> None:
        self._serving = serving
        self._stuck_topics = stuck_topics
        self._store = store
        self._source = source
        self._sinks = sinks
        self._clock = clock
        self._max_clock_skew_ms = max_clock_skew_ms

    async def obstacles(self) -> list[str]:
        """Say what keeps the worker from its work, a line each; none if nothing does."""
        if not self._serving():
            return ["the worker starts, or stops"]
        stuck = [f"the {name} topic takes no record" for name in self._stuck_topics()]
        checks = [
            _obstacle("the dedup store", self._compare_clocks()),
            _obstacle("the intents topic", self._source.check()),
            *(_obstacle(f"the {name} topic", sink.check()) for name, sink in self._sinks),
        ]
        return stuck + [found for found in await asyncio.gather(*checks) if found]

    async def _compare_clocks(self) -> None:
        before_ms = self._clock.now_ms()
        store_ms = await self._store.now_ms()
        after_ms = self._clock.now_ms()
        await self._store.lookup(_NO_INTENT)  # a store may tell its time without its disk
        if store_ms is None:
            return
        # Its clock was read somewhere in between: only what is certain counts.
        skew_ms = max(before_ms - store_ms, store_ms - after_ms)
        if skew_ms > self._max_clock_skew_ms:
            raise ValueError(
                f"its clock is {skew_ms} ms off ours, more than "
                f"--max-clock-skew-ms {self._max_clock_skew_ms}: set this host's clock"
            )


async def _obstacle(what: str, check: Awaitable[None]) -> str | None:
    try:
        await asyncio.wait_for(check, _PATIENCE_S)
    except (asyncio.TimeoutError, TimeoutError):
        return f"{what}: no answer within {_PATIENCE_S:g} s"
    except Exception as error:  # whatever a backend raises that cannot be asked
        return f"{what}: {error}"
    return None
