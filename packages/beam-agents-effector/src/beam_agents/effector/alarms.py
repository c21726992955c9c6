"""Many deadlines, hardly any of which ever comes: one sleeper for all of them.

Every running tool has a timeout and every claim a lease end. A timer for each
would cost more than the phases themselves; here setting and cancelling one is an
insertion into a set, and the set is searched only when the earliest is due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from beam_agents.effector.interruptions import Interruption
from beam_agents.effector.ports import Clock
from beam_agents.effector.work import Work

_NEVER_MS = 2**63


def _silence() -> None:
    """Ring no more."""


class Alarm:
    """Something to happen at a time of the monotonic clock; `at_ms` may be moved on."""

    __slots__ = ("_pending", "at_ms", "ring")

    def __init__(self, pending: set[Alarm], at_ms: int, ring: Callable[[], None]) -> None:
        self._pending = pending
        self.at_ms = at_ms
        self.ring = ring

    def cancel(self) -> None:
        """Let it never ring; harmless once it rang."""
        self._pending.discard(self)
        self.ring = _silence  # its owner may hold the alarm: no cycle is left behind


class Alarms:
    """Rings alarms while `run` runs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pending: set[Alarm] = set()
        self._wakes_ms = _NEVER_MS
        self._sleeper: asyncio.Future[None] | None = None

    def after(self, ms: int, ring: Callable[[], None]) -> Alarm:
        """Ring in `ms` milliseconds."""
        return self.at(self._clock.monotonic_ms() + ms, ring)

    def at(self, at_ms: int, ring: Callable[[], None]) -> Alarm:
        """Ring at a time of the monotonic clock, at once if it is past."""
        alarm = Alarm(self._pending, at_ms, ring)
        self._pending.add(alarm)
        if at_ms < self._wakes_ms and self._sleeper is not None:
            self._sleeper.cancel()
        return alarm

    def resting(self, ms: int) -> asyncio.Future[None]:
        """Return a future that is done in `ms` milliseconds; cancelling it is harmless."""
        rested: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        alarm = self.after(ms, lambda: None if rested.done() else rested.set_result(None))
        rested.add_done_callback(lambda _: alarm.cancel())
        return rested

    def reaching(self, other: asyncio.Future[Any], ms: int) -> asyncio.Future[None]:
        """Return a future that is done when another is, at the latest in `ms` milliseconds."""
        reached = self.resting(ms)
        other.add_done_callback(lambda _: None if reached.done() else reached.set_result(None))
        return reached

    @contextmanager
    def cutting_in(self, work: Work, reason: Interruption, ms: int) -> Iterator[None]:
        """End the wait that goes on inside, if it lasts `ms` milliseconds."""
        alarm = self.after(ms, lambda: work.end_wait(reason))
        try:
            yield
        finally:
            alarm.cancel()

    async def run(self) -> None:
        """Ring what is due, for ever."""
        while True:
            await self._sleep_until_the_earliest()
            now_ms = self._clock.monotonic_ms()
            due = [alarm for alarm in self._pending if alarm.at_ms <= now_ms]
            for alarm in sorted(due, key=lambda alarm: alarm.at_ms):
                if alarm in self._pending:  # an earlier one may have cancelled it
                    ring = alarm.ring
                    alarm.cancel()
                    ring()

    async def _sleep_until_the_earliest(self) -> None:
        self._wakes_ms = min((alarm.at_ms for alarm in self._pending), default=_NEVER_MS)
        if self._wakes_ms == _NEVER_MS:
            self._sleeper = asyncio.get_running_loop().create_future()
        else:
            ms = max(0, self._wakes_ms - self._clock.monotonic_ms())
            self._sleeper = asyncio.ensure_future(self._clock.sleep(ms))
        try:
            await asyncio.wait({self._sleeper})
        finally:
            self._sleeper.cancel()
