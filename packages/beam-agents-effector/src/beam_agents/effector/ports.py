"""What the effector needs from the world: a dedup store, a log to read, logs to write, a clock.

Every answer that a port may give is a value of a closed union, to be matched
exhaustively; exceptions are for what is broken. Adapters live in `backends/`,
and a public contract suite for each port in `beam_agents.effector.testing`.
Values of several fields that are made for every intent are named tuples, which are
made several times as fast as frozen dataclasses; a union's members are told apart by
their class, so they are dataclasses.

All times are unix milliseconds, all durations milliseconds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

# Conflicts are told apart from forgotten records for this long past an intent's
# deadline; see `DedupStore.claim`.
DEADLINE_GRACE_MS = 600_000


class StoreUnavailable(ConnectionError):
    """The dedup store could not answer: nothing is known of what it did."""


class SinkUnavailable(ConnectionError):
    """The sink could not take the record now; publishing it again may succeed."""


class RecordTooLarge(ValueError):
    """The sink refuses the record for its size, however often it is sent."""

    def __init__(self, size: int, message: str = "") -> None:
        super().__init__(message or f"the sink refuses a record of {size} bytes")
        self.size = size


# --- the dedup store -------------------------------------------------------------------------


class Claim(NamedTuple):
    """The right to run one intent, until its lease ends.

    Attributes:
        intent_id: The intent.
        token: Names this claim effort: fresh for each, never one per process.
        attempt: Fencing token, 1 for the first claim of the intent, growing with each.
    """

    intent_id: str
    token: str
    attempt: int


class Claimed(NamedTuple):
    """The intent is ours. `invoked_before`: an earlier attempt may have called the tool."""

    claim: Claim
    invoked_before: bool


@dataclass(frozen=True, slots=True)
class Busy:
    """Another worker holds a live lease; ask again after `retry_after_ms`, or sooner."""

    retry_after_ms: int


@dataclass(frozen=True, slots=True)
class Completed:
    """The intent has ended: these are the bytes of its one terminal result."""

    result: bytes


@dataclass(frozen=True, slots=True)
class Conflict:
    """The id stands for another request, whose fingerprint this is."""

    fingerprint: bytes


@dataclass(frozen=True, slots=True)
class Expired:
    """By the store's clock the intent is past its deadline.

    `record_may_be_gone`: also past the time for which its record was kept, so
    that nobody can say whether an earlier attempt ran.
    """

    record_may_be_gone: bool


@dataclass(frozen=True, slots=True)
class Stored:
    """The record now holds this result."""

    result: bytes


@dataclass(frozen=True, slots=True)
class Superseded:
    """The claim was lost: `result` is what the winner stored, or None while it still runs."""

    result: bytes | None


@dataclass(frozen=True, slots=True)
class ClaimLost:
    """The record's time is over: judge the intent as expired."""


ClaimAnswer: TypeAlias = Claimed | Busy | Completed | Conflict | Expired
CompleteAnswer: TypeAlias = Stored | Superseded | Conflict | ClaimLost
RefusalAnswer: TypeAlias = Stored | Completed | Busy | Conflict


class DedupRecord(NamedTuple):
    """All that a store keeps of one intent.

    Attributes:
        fingerprint: Of the request that first claimed the id, 32 bytes.
        attempt: How many attempts were claimed; the fencing token of the last.
        token: The owner's token, empty when nobody owns the intent.
        lease_until_ms: End of the owner's lease, by the store's clock.
        invoked: The attempts that said they would call the tool.
        result: The terminal result, or None before there is one.
        keep_until_ms: When the record may be forgotten; judged when it is read.
    """

    fingerprint: bytes
    attempt: int = 0
    token: str = ""
    lease_until_ms: int = 0
    invoked: tuple[int, ...] = ()
    result: bytes | None = None
    keep_until_ms: int = 0


class DedupStore(Protocol):
    """One record per intent id; every call is atomic, and fenced by the claim.

    The rules behind each answer were model-checked; `dedup.py` states them as
    pure functions on a `DedupRecord`. Any method raises `StoreUnavailable`
    where the store cannot answer, and then may or may not have taken effect.
    """

    async def open(self) -> None:
        """Connect, and check what must hold before the first call."""

    async def aclose(self) -> None:
        """Give up connections. Records stay."""

    async def now_ms(self) -> int | None:
        """Ask the store its clock; None where it has none (leases then go by ours)."""

    async def claim(
        self,
        intent_id: str,
        fingerprint: bytes,
        token: str,
        *,
        lease_ms: int,
        expires_at_ms: int,
    ) -> ClaimAnswer:
        """Ask for the intent; judged in the order Conflict, Completed, own token, Busy, Expired."""

    async def mark_invoked(self, claim: Claim) -> bool:
        """Record that the tool is about to be called; False if the claim was lost."""

    async def renew(self, claims: Sequence[Claim], *, lease_ms: int) -> Sequence[Claim]:
        """Extend the leases; return the claims that are lost. Never re-creates a record."""

    async def complete(
        self, claim: Claim, fingerprint: bytes, result: bytes, *, expires_at_ms: int
    ) -> CompleteAnswer:
        """Store the terminal result, if the claim still holds."""

    async def record_refusal(
        self,
        intent_id: str,
        fingerprint: bytes,
        *,
        if_never_claimed: bytes,
        if_claimed: bytes,
        expires_at_ms: int,
    ) -> RefusalAnswer:
        """Store a terminal result without a claim: the variant that the record's past calls for."""

    async def release(self, claim: Claim) -> bool:
        """Hand the claim back before its tool was called; False if it was not ours any more."""

    async def redeem(self, grant_id: str, intent_id: str, *, keep_until_ms: int) -> bool:
        """Use an approval grant: true for the first intent that asks, and for its repeats."""

    async def lookup(self, intent_id: str) -> DedupRecord | None:
        """Read a record, for operators. Changes nothing."""


# --- the log ---------------------------------------------------------------------------------

Headers: TypeAlias = tuple[tuple[str, bytes], ...]


class Delivery(NamedTuple):
    """One record of the intents log, handed out until it is `done`.

    Attributes:
        partition: Names topic and partition, such as `intents/0`.
        offset: Its place in the partition; grows, with gaps allowed.
        epoch: The assignment under which it was handed out. After a rebalance the
            same offset comes again under another epoch, and the old one commits nothing.
        timestamp_ms: When the log took it.
    """

    partition: str
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int = 0
    epoch: int = 0


class Source(Protocol):
    """Hands out deliveries in order per partition and takes them back as done, in any order.

    Turning what is done into contiguous offsets or acknowledgements is the adapter's work.
    """

    async def open(self, on_lost: Callable[[Collection[str]], None]) -> None:
        """Connect and join the group. `on_lost` is called with partitions taken away from us."""

    async def fetch(self) -> Sequence[Delivery]:
        """Wait for at least one delivery. May be cancelled without losing any."""

    def done(self, delivery: Delivery) -> None:
        """Take a delivery back as finished. A no-op for a partition that was lost."""

    def pause(self, partition: str) -> None:
        """Hand out no more of this partition until it is resumed."""

    def resume(self, partition: str) -> None:
        """Hand this partition out again."""

    async def commit(self) -> None:
        """Make durable what is contiguously done. Partitions that were lost are left out."""

    async def lag(self) -> Mapping[str, int]:
        """Tell, for each partition of ours, how far its end is from the first unfinished record.

        For those who look on; a log that does not number its records tells nothing.
        """

    async def check(self) -> None:
        """Raise what keeps the log from being read, if anything does."""

    async def aclose(self) -> None:
        """Commit once more, and leave the group at once."""


class Sink(Protocol):
    """Appends records durably."""

    async def open(self) -> None:
        """Connect, and check that the topic is there."""

    async def publish(self, *, key: bytes, value: bytes, headers: Headers = ()) -> None:
        """Return once the record is durable.

        Raises:
            SinkUnavailable: It may or may not have been taken; publish it again.
            RecordTooLarge: It never will be.
        """

    async def check(self) -> None:
        """Raise what keeps the sink from taking records, if anything does."""

    async def aclose(self) -> None:
        """Flush, and close the connection."""


class Browser(Protocol):
    """Reads a topic as a bystander: joins no group, commits nothing, takes nothing away."""

    async def open(self) -> None:
        """Connect, and note where the topic ends now."""

    @property
    def extent(self) -> int:
        """How many places there are to look at, known once it is open; some may be empty."""

    def records(self) -> AsyncIterator[Delivery]:
        """Yield what the topic held when it was opened: in order within each partition."""

    async def aclose(self) -> None:
        """Give up connections."""


# --- the clock -------------------------------------------------------------------------------


class Clock(Protocol):
    """Time, as a port: tests move it by hand."""

    def now_ms(self) -> int:
        """Unix milliseconds."""

    def monotonic_ms(self) -> int:
        """Milliseconds of a clock that never steps; leases are counted on it."""

    async def sleep(self, ms: int) -> None:
        """Wait `ms` milliseconds."""
