"""The claims that this worker holds, renewed together, each with the time until which it counts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from beam_agents.effector.alarms import Alarm, Alarms
from beam_agents.effector.ports import Claim, Claimed, Clock, DedupStore

_log = logging.getLogger(__name__)

# What a store raises that cannot answer; a third party's may raise the plain errors.
STORE_SILENT = (ConnectionError, TimeoutError, asyncio.TimeoutError)

_RENEWALS_PER_LEASE = 3
_RETRY_MS = 1_000


class Lease:
    """A claim of ours, and whether it may still be acted on.

    Attributes:
        claim: What the store gave.
        invoked_before: An earlier attempt may have called the tool.
        ends_ms: When it is over unless it is renewed, on the monotonic clock.
        on_over: Called once, when the claim is over.
    """

    __slots__ = ("_clock", "_ended", "claim", "ends_ms", "invoked_before", "on_over")

    def __init__(self, answer: Claimed, clock: Clock, ends_ms: int) -> None:
        self.claim: Claim = answer.claim
        self.invoked_before = answer.invoked_before
        self.ends_ms = ends_ms
        self._clock = clock
        self._ended = False
        self.on_over: Callable[[], None] | None = None

    @property
    def over(self) -> bool:
        """Whether it is lost, or so near its end that nothing may begin under it.

        The clock is read, for a process that was stopped or starved goes on in the
        middle of a turn, before any alarm can ring.
        """
        return self._ended or self._clock.monotonic_ms() >= self.ends_ms

    def end(self) -> None:
        """Let nothing begin under the claim, and stop what runs."""
        if not self._ended:
            self._ended = True
            if self.on_over is not None:
                self.on_over()


class Leases:
    """Keeps the claims of this process alive, all of them in one call to the store.

    A lease is counted on our own monotonic clock from before the call that granted
    it was sent, so we never believe in it longer than the store does. Its last
    tenth is left for the tool to stop in.

    Args:
        store: Grants and renews.
        clock: Read before each call is sent.
        alarms: Ring the end of a lease, and the time to renew.
        start: Starts the task of a renewal.
        lease_ms: How long a claim lasts.
        renewing: Whether leases are renewed at all.
    """

    def __init__(
        self,
        store: DedupStore,
        clock: Clock,
        alarms: Alarms,
        start: Callable[[Coroutine[Any, Any, None]], object],
        *,
        lease_ms: int,
        renewing: bool = True,
    ) -> None:
        self._store = store
        self._clock = clock
        self._alarms = alarms
        self._start = start
        self._lease_ms = lease_ms
        self._renewing = renewing
        # Without renewal the budget is tight by choice (lease > tool timeout): no margin.
        self._margin_ms = lease_ms // 10 if renewing else 0
        self._interval_ms = max(1, lease_ms // _RENEWALS_PER_LEASE)
        self._held: dict[str, Lease] = {}
        self._next_end: Alarm | None = None
        self._next_renewal: Alarm | None = None
        self._under_way = False

    def __len__(self) -> int:
        return len(self._held)

    @property
    def margin_ms(self) -> int | None:
        """How long the lease that ends first still counts; None without any."""
        ends_ms = min((lease.ends_ms for lease in self._held.values()), default=None)
        return None if ends_ms is None else ends_ms - self._clock.monotonic_ms()

    def over(self, sent_ms: int) -> bool:
        """Tell whether a lease asked for at `sent_ms` would be over by now."""
        return self._clock.monotonic_ms() >= self._ends_ms(sent_ms)

    def hold(self, answer: Claimed, *, sent_ms: int) -> Lease:
        """Keep a claim alive from now on; `sent_ms` is when it was first asked for."""
        lease = Lease(answer, self._clock, self._ends_ms(sent_ms))
        self._held[lease.claim.token] = lease
        if self._next_end is None or lease.ends_ms < self._next_end.at_ms:
            self._look_for_ends_at(lease.ends_ms)
        if self._renewing and self._next_renewal is None:
            self._renew_in(self._interval_ms)
        return lease

    def let_go(self, lease: Lease) -> None:
        """Renew a claim no more."""
        self._held.pop(lease.claim.token, None)

    def _ends_ms(self, sent_ms: int) -> int:
        return sent_ms + self._lease_ms - self._margin_ms

    def _look_for_ends_at(self, at_ms: int) -> None:
        """Set the one alarm for all: an alarm for each would ring for hardly any."""
        if self._next_end is not None:
            self._next_end.cancel()
        self._next_end = self._alarms.at(at_ms, self._some_may_be_over)

    def _some_may_be_over(self) -> None:
        self._next_end = None
        for lease in list(self._held.values()):
            if lease.over:
                lease.end()
        counting = [lease.ends_ms for lease in self._held.values() if not lease.over]
        if counting:
            self._look_for_ends_at(min(counting))

    def _renew_in(self, ms: int) -> None:
        if self._next_renewal is not None:
            self._next_renewal.cancel()
        self._next_renewal = self._alarms.after(ms, self._renewal_is_due)

    def _renewal_is_due(self) -> None:
        self._next_renewal = None
        if self._held:
            self._renew_in(self._interval_ms)
            if not self._under_way:
                self._start(self._renew())

    async def _renew(self) -> None:
        self._under_way = True
        try:
            await self._renew_all()
        except STORE_SILENT as error:
            _log.warning("leases could not be renewed: %s", error)
            self._renew_in(min(_RETRY_MS, self._interval_ms))
        finally:
            self._under_way = False

    async def _renew_all(self) -> None:
        leases = list(self._held.values())
        sent_ms = self._clock.monotonic_ms()
        lost = set(
            await self._store.renew([lease.claim for lease in leases], lease_ms=self._lease_ms)
        )
        for lease in leases:
            if lease.claim in lost:
                lease.end()
            elif not lease.over:
                lease.ends_ms = self._ends_ms(sent_ms)
