"""`bigtable://`: a dedup store judged by the workers, each write checked against what was read.

Bigtable has no clock to ask and runs no code of ours. So a worker reads a row,
judges it by its own clock, and replaces it only if nobody did so meanwhile
(CheckAndMutateRow); else it reads and judges again.

Workers' clocks may differ by `max_clock_skew_ms`. A rule is therefore told the
earliest time that any of them may show: what has ended then has ended for all,
records and deadlines alike. What a rule writes counts from its own worker's
clock: leases and records last for that much longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Generic, TypeVar

from beam_agents.effector.backends.bigtable_record import (
    Row,
    grant_row,
    intent_row,
    read_grant,
    read_intent,
)
from beam_agents.effector.backends.bigtable_table import BigtableTable, TableName
from beam_agents.effector.backends.transacted_rules import TransactedRules
from beam_agents.effector.clock import SystemClock
from beam_agents.effector.dedup import (
    RESULT_TTL_MS,
    GrantRecord,
    GrantRule,
    Rule,
    UnreadableRecord,
    live,
)
from beam_agents.effector.ports import Claim, ClaimAnswer, Clock, DedupRecord

_A = TypeVar("_A")
_R = TypeVar("_R", DedupRecord, GrantRecord)

# Cells are dated this long before their record's end. The family's `maxage` exceeds it by an
# hour, so garbage collection, which knows only that date, never comes before the end.
_DATED_BEFORE_END_MS = 86_400_000
_LONGEST_KEY = 4_096
_ROWS_IN_MIND = 10_000


@dataclass(frozen=True, slots=True)
class _Kind(Generic[_R]):
    """How one kind of record is kept."""

    prefix: str
    read: Callable[[str, Mapping[str, bytes]], Row[_R]]
    write: Callable[[_R], Row[_R]]


_INTENTS = _Kind("intent#", read_intent, intent_row)
_GRANTS = _Kind("grant#", read_grant, grant_row)


class BigtableStore(TransactedRules):
    """Keeps each record in a row of its own.

    Args:
        name: The table.
        result_ttl_ms: How long a record is kept, counted from its last claim or result.
        max_clock_skew_ms: How far the clocks of two workers may be apart.
        clock: This worker's clock.
        call_timeout_ms: After this long a round trip raises `StoreUnavailable`.
        key_prefix: What every row key begins with.
    """

    def __init__(
        self,
        name: TableName,
        *,
        result_ttl_ms: int = RESULT_TTL_MS,
        max_clock_skew_ms: int = 5_000,
        clock: Clock | None = None,
        call_timeout_ms: int = 5_000,
        key_prefix: str = "",
    ) -> None:
        super().__init__(result_ttl_ms + max_clock_skew_ms)
        self._skew_ms = max_clock_skew_ms
        self._clock = clock or SystemClock()
        self._key_prefix = key_prefix
        self._table = BigtableTable(name, call_timeout_ms)
        # Rows that hold a claim as we wrote it: most likely they still do, and need no reading.
        self._in_mind: dict[bytes, Row[DedupRecord]] = {}

    async def open(self) -> None:
        """Connect, and check that rows can be checked and written.

        Raises:
            OperatorError: The table, its family or the app profile is not as it must be.
        """
        await self._table.open()

    async def aclose(self) -> None:
        """Disconnect."""
        await self._table.aclose()

    async def now_ms(self) -> None:
        """Bigtable has no clock to ask."""

    async def claim(
        self,
        intent_id: str,
        fingerprint: bytes,
        token: str,
        *,
        lease_ms: int,
        expires_at_ms: int,
    ) -> ClaimAnswer:
        """Ask for the intent."""
        return await super().claim(
            intent_id,
            fingerprint,
            token,
            lease_ms=lease_ms + self._skew_ms,
            expires_at_ms=expires_at_ms,
        )

    async def renew(self, claims: Sequence[Claim], *, lease_ms: int) -> Sequence[Claim]:
        """Extend the leases; return the claims that are lost."""
        return await super().renew(claims, lease_ms=lease_ms + self._skew_ms)

    async def lookup(self, intent_id: str) -> DedupRecord | None:
        """Read a record, for operators. Changes nothing."""
        row = await self._read(_INTENTS, intent_id)
        return live(row.record if row else None, self._judged_at_ms())

    async def _judge(
        self, intent_ids: Sequence[str], rules: Sequence[Rule[_A]]
    ) -> list[_A | UnreadableRecord]:
        return await asyncio.gather(
            *(self._apply(*each) for each in zip(intent_ids, rules, strict=True))
        )

    async def _apply(self, intent_id: str, rule: Rule[_A]) -> _A | UnreadableRecord:
        key = self._key(_INTENTS, intent_id)
        supposed = self._in_mind.pop(key, None)
        try:
            row, answer = await self._settle(_INTENTS, intent_id, supposed, rule)
        except UnreadableRecord as error:
            return error
        if row is not None and row.record.token and row.record.result is None:
            self._in_mind[key] = row
            if len(self._in_mind) > _ROWS_IN_MIND:
                del self._in_mind[next(iter(self._in_mind))]
        return answer

    async def _judge_grant(self, grant_id: str, rule: GrantRule) -> bool:
        _, answer = await self._settle(_GRANTS, grant_id, None, rule)
        return answer

    async def _settle(
        self,
        kind: _Kind[_R],
        name: str,
        row: Row[_R] | None,
        rule: Callable[[_R | None, int], tuple[_R | None, _A]],
    ) -> tuple[Row[_R] | None, _A]:
        """Judge a row and write what the rule says, until nobody interferes.

        Args:
            kind: What the row holds.
            name: Whose row it is.
            row: What it is supposed to hold: most rows that are asked for are new, or as
                we wrote them, and then one round trip is enough. A wrong guess writes nothing.
            rule: Judges it.
        """
        key, read, written = self._key(kind, name), False, None
        while True:
            before, stamp = (row.record, row.stamp) if row else (None, None)
            record, answer = rule(before, self._judged_at_ms())
            if record is not None and record != before:
                written = kind.write(record)
                dated_ms = max(0, record.keep_until_ms - _DATED_BEFORE_END_MS)
                if await self._table.swap(key, stamp, written.cells, timestamp_ms=dated_ms):
                    return written, answer
            elif read:
                return row, answer
            row, read = await self._read(kind, name), True
            if row is not None and written is not None and row.stamp == written.stamp:
                return written, answer  # it was ours, and the network asked twice

    async def _read(self, kind: _Kind[_R], name: str) -> Row[_R] | None:
        cells = await self._table.read(self._key(kind, name))
        return None if cells is None else kind.read(name, cells)

    def _key(self, kind: _Kind[_R], name: str) -> bytes:
        key = f"{self._key_prefix}{kind.prefix}{name}".encode()
        if len(key) <= _LONGEST_KEY:
            return key
        return f"{self._key_prefix}{kind.prefix}sha256:{sha256(key).hexdigest()}".encode()

    def _judged_at_ms(self) -> int:
        return self._clock.now_ms() - self._skew_ms
