"""The clock of the host, for everything that takes a `Clock`."""

from __future__ import annotations

import asyncio
import time

_NS_PER_MS = 1_000_000


class SystemClock:
    """Reads the host's clocks and sleeps on the running event loop."""

    def now_ms(self) -> int:
        """Unix milliseconds."""
        return time.time_ns() // _NS_PER_MS

    def monotonic_ms(self) -> int:
        """Milliseconds of a clock that never steps."""
        return time.monotonic_ns() // _NS_PER_MS

    async def sleep(self, ms: int) -> None:
        """Wait `ms` milliseconds."""
        await asyncio.sleep(ms / 1000)
