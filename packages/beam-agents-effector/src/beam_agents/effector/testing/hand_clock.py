"""A clock that stands still until a test moves it."""

from __future__ import annotations


class HandClock:
    """A `Clock` for stores, which read time and never wait for it.

    Args:
        now_ms: Where it starts, in unix milliseconds.
    """

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms

    def advance(self, ms: int) -> None:
        """Move it on; back, with a negative number."""
        self._now_ms += ms

    def now_ms(self) -> int:
        """Unix milliseconds."""
        return self._now_ms

    def monotonic_ms(self) -> int:
        """The same count: it steps only when a test steps it back."""
        return self._now_ms

    async def sleep(self, ms: int) -> None:
        """Wait, by moving on at once."""
        self.advance(ms)
