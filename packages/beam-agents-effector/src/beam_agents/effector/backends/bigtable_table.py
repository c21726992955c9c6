"""One Bigtable table: read a row, and write it only if it is as it was read."""

from __future__ import annotations

import asyncio
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import grpc
from google.api_core.exceptions import (
    FailedPrecondition,
    GoogleAPICallError,
    NotFound,
    PermissionDenied,
    Unauthenticated,
)
from google.auth.exceptions import GoogleAuthError
from google.cloud.bigtable.data import (
    BigtableDataClientAsync,
    DeleteAllFromRow,
    SetCell,
    TableAsync,
)
from google.cloud.bigtable.data.row_filters import (
    BlockAllFilter,
    CellsColumnLimitFilter,
    FamilyNameRegexFilter,
    RowFilter,
    RowFilterChain,
    ValueRangeFilter,
)

from beam_agents.effector.backends.bigtable_record import RECORD
from beam_agents.effector.errors import OperatorError
from beam_agents.effector.ports import StoreUnavailable

FAMILY = "d"

# What Google's client raises where it has no answer for us.
_SILENT = (GoogleAPICallError, GoogleAuthError, grpc.RpcError, grpc.aio.UsageError)

# The service finds no "column family" (NotFound), the emulator an "unknown family" (Unknown).
_NO_FAMILY = re.compile("(column|unknown) family", re.IGNORECASE)
_PROBE = b"probe"
_US_PER_MS = 1_000
# Enough to keep Bigtable busy. Without a bound, the last of a thousand renewals would use up
# its time on waiting for the others.
_TRIPS_IN_FLIGHT = 100
# So many timeouts without an answer, and the connection is taken for dead: one that a firewall
# forgot would be waited for, for a quarter of an hour.
_TIMEOUTS_OF_SILENCE = 4
_LATEST = RowFilterChain(filters=[FamilyNameRegexFilter(FAMILY), CellsColumnLimitFilter(1)])


@dataclass(frozen=True, slots=True)
class TableName:
    """Where a table is, and by which app profile it is reached."""

    project: str
    instance: str
    table: str
    app_profile: str | None = None

    def __str__(self) -> str:
        return f"{self.project}/{self.instance}/{self.table}"


class BigtableTable:
    """A table that is reached through one cluster, so that its rows change atomically.

    Args:
        name: The table; must exist, with the family `d`.
        call_timeout_ms: After this long a round trip fails.
    """

    def __init__(self, name: TableName, call_timeout_ms: int) -> None:
        self._name = name
        self._timeout_s = call_timeout_ms / 1000
        self._trips = asyncio.Semaphore(_TRIPS_IN_FLIGHT)
        self._client: BigtableDataClientAsync | None = None
        self._table: TableAsync | None = None
        self._answered_s = 0.0
        self._retired: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Connect, and write a row that is of no use, in the way in which all are written.

        Raises:
            OperatorError: The table or its family is not there, or not to be used by us.
            StoreUnavailable: Bigtable does not answer.
        """
        try:
            self._connect()
            # Of no age, so that garbage collection takes it next time.
            await self._check_and_mutate(_PROBE, BlockAllFilter(True), {RECORD: b""}, 0)
        except _SILENT as error:
            await self.aclose()
            raise self._mistake(error) or self._unavailable(error) from error

    async def read(self, key: bytes) -> dict[str, bytes] | None:
        """Read the cells of a row, by column; None where there is no row.

        Raises:
            StoreUnavailable: Bigtable does not answer.
        """
        try:
            async with self._trips:
                row = await self._opened().read_row(
                    key, row_filter=_LATEST, operation_timeout=self._timeout_s, retryable_errors=()
                )
        except _SILENT as error:
            raise self._silence(error) from error
        self._heard()
        return row and {cell.qualifier.decode(): cell.value for cell in row}

    async def swap(
        self, key: bytes, stamp: bytes | None, cells: Mapping[str, bytes], *, timestamp_ms: int
    ) -> bool:
        """Replace a row by these cells; False, and nothing, if it is not as it was read.

        Args:
            key: The row.
            stamp: The bytes of its record when it was read; None for no row.
            cells: What it is to hold, by column.
            timestamp_ms: The age of the cells, for garbage collection.

        Raises:
            StoreUnavailable: Bigtable does not answer; the row may have been replaced.
        """
        as_read = None if stamp is None else _record_is(stamp)
        try:
            matched = await self._check_and_mutate(key, as_read, cells, timestamp_ms)
        except _SILENT as error:
            raise self._silence(error) from error
        self._heard()
        return matched is (stamp is not None)

    async def aclose(self) -> None:
        """Disconnect."""
        for task in self._retired:
            task.cancel()
        client, self._client, self._table = self._client, None, None
        if client is not None:
            await client.close()

    def _connect(self) -> None:
        self._client = _client(self._name.project)
        self._table = self._client.get_table(
            self._name.instance, self._name.table, app_profile_id=self._name.app_profile
        )
        self._heard()

    def _heard(self) -> None:
        self._answered_s = asyncio.get_running_loop().time()

    def _silence(self, error: BaseException) -> StoreUnavailable:
        """Connect anew where nothing was heard for long; say that there is no answer."""
        silent_s = asyncio.get_running_loop().time() - self._answered_s
        client = self._client
        if client is not None and silent_s > _TIMEOUTS_OF_SILENCE * self._timeout_s:
            self._connect()
            task = asyncio.ensure_future(self._retire(client))
            self._retired.add(task)
            task.add_done_callback(self._retired.discard)
        return self._unavailable(error)

    async def _retire(self, client: BigtableDataClientAsync) -> None:
        # Closing cancels the calls that are under way: by then none is.
        await asyncio.sleep(2 * self._timeout_s)
        await client.close()

    async def _check_and_mutate(
        self, key: bytes, expected: RowFilter | None, cells: Mapping[str, bytes], timestamp_ms: int
    ) -> bool:
        """Write if the filter finds something; without one, if the row does not exist."""
        timestamp_us = timestamp_ms * _US_PER_MS
        written = [
            DeleteAllFromRow(),
            *(SetCell(FAMILY, column, value, timestamp_us) for column, value in cells.items()),
        ]
        absent = expected is None or isinstance(expected, BlockAllFilter)
        # The client never repeats this call by itself: that is for the protocol to decide.
        async with self._trips:
            matched: bool = await self._opened().check_and_mutate_row(
                key,
                _LATEST if expected is None else expected,
                true_case_mutations=None if absent else written,
                false_case_mutations=written if absent else None,
                operation_timeout=self._timeout_s,
            )
        return matched

    def _opened(self) -> TableAsync:
        if self._table is None:
            raise StoreUnavailable("the dedup store is closed")
        return self._table

    def _unavailable(self, error: BaseException) -> StoreUnavailable:
        return StoreUnavailable(f"dedup store bigtable://{self._name}: {_reason(error)}")

    def _mistake(self, error: BaseException) -> OperatorError | None:
        """Say what the operator must do, where it is for the operator."""
        name = self._name
        match error:
            case FailedPrecondition():
                profile = name.app_profile or "default"
                return OperatorError(
                    f"the app profile {profile!r} of the Bigtable instance {name.instance!r} "
                    f"refuses single-row transactions ({_reason(error)}): name one with "
                    f"single-cluster routing and transactions by '?app_profile=NAME'"
                )
            case _ if _NO_FAMILY.search(_reason(error)):
                return OperatorError(
                    f"the Bigtable table {str(name)!r} has no column family {FAMILY!r}: create "
                    f"it by 'cbt createfamily {name.table} {FAMILY}', with the garbage "
                    f"collection that the documentation of the effector gives"
                )
            case NotFound():
                return OperatorError(
                    f"the Bigtable table {str(name)!r} does not exist ({_reason(error)}): create "
                    f"it as the documentation of the effector says"
                )
            case PermissionDenied() | Unauthenticated() | GoogleAuthError():
                return OperatorError(
                    f"Bigtable does not let us use the table {str(name)!r}: {_reason(error)}"
                )
            case _:
                return None


def _client(project: str) -> BigtableDataClientAsync:
    with warnings.catch_warnings():
        if "BIGTABLE_EMULATOR_HOST" in os.environ:
            warnings.simplefilter("ignore", RuntimeWarning)  # that it is an emulator: we know
        client: BigtableDataClientAsync = BigtableDataClientAsync(project=project)
    return client


def _record_is(stamp: bytes) -> RowFilter:
    return RowFilterChain(
        filters=[
            _LATEST,
            ValueRangeFilter(start_value=stamp, end_value=stamp),
        ]
    )


def _reason(error: BaseException) -> str:
    return str(getattr(error, "message", "")) or str(error) or repr(error)
