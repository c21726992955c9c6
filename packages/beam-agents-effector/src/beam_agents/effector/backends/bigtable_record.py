"""How a dedup record, or the use of a grant, is the cells of a row.

One cell holds the record as JSON, with a stamp that no other write has; a second one
holds the result. Readers compare nothing but the first, so a large result costs a
write nothing until it is written itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import uuid4

from beam_agents.effector.dedup import RECORD_VERSION, GrantRecord, UnreadableRecord
from beam_agents.effector.ports import DedupRecord

RECORD = "record"
RESULT = "result"

_R = TypeVar("_R", DedupRecord, GrantRecord)


@dataclass(frozen=True, slots=True)
class Row(Generic[_R]):
    """What a row holds: a record, and the very bytes that only this write of it has."""

    record: _R
    cells: Mapping[str, bytes]

    @property
    def stamp(self) -> bytes:
        """The bytes by which this write is told from any other."""
        return self.cells[RECORD]


def intent_row(record: DedupRecord) -> Row[DedupRecord]:
    """Write the record of an intent down."""
    cells = {
        RECORD: _stamped(
            fingerprint=record.fingerprint.hex(),
            attempt=record.attempt,
            token=record.token,
            lease_until_ms=record.lease_until_ms,
            invoked=record.invoked,
            keep_until_ms=record.keep_until_ms,
        )
    }
    if record.result is not None:
        cells[RESULT] = record.result
    return Row(record, cells)


def grant_row(grant: GrantRecord) -> Row[GrantRecord]:
    """Write the use of a grant down."""
    cells = {RECORD: _stamped(intent_id=grant.intent_id, keep_until_ms=grant.keep_until_ms)}
    return Row(grant, cells)


def read_intent(key: str, cells: Mapping[str, bytes]) -> Row[DedupRecord]:
    """Read the record of an intent.

    Raises:
        UnreadableRecord: A newer release wrote it.
    """
    fields = _fields(key, cells)
    record = DedupRecord(
        bytes.fromhex(fields["fingerprint"]),
        fields["attempt"],
        fields["token"],
        fields["lease_until_ms"],
        tuple(fields["invoked"]),
        cells.get(RESULT),
        fields["keep_until_ms"],
    )
    return Row(record, cells)


def read_grant(key: str, cells: Mapping[str, bytes]) -> Row[GrantRecord]:
    """Read the use of a grant; raises as `read_intent` does."""
    fields = _fields(key, cells)
    return Row(GrantRecord(fields["intent_id"], fields["keep_until_ms"]), cells)


def _stamped(**fields: object) -> bytes:
    return json.dumps({"v": RECORD_VERSION, "stamp": uuid4().hex, **fields}).encode()


def _fields(key: str, cells: Mapping[str, bytes]) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(cells[RECORD])
    if fields["v"] > RECORD_VERSION:
        raise UnreadableRecord(key, fields["v"])
    return fields
