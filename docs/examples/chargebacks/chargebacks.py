"""Reads chargeback events from a file of JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

END_OF_9999_MS = 253_402_300_799_999


class Chargeback(BaseModel):
    """One line of the file; unknown fields stay with the event."""

    model_config = ConfigDict(extra="allow", strict=True)

    event_id: str = Field(min_length=1)
    account: str = Field(min_length=1)
    charge_id: str = Field(min_length=1)
    amount_cents: int = Field(gt=0)
    at_ms: int = Field(ge=0, le=END_OF_9999_MS)


@dataclass(frozen=True)
class BadLine:
    """A line that is no chargeback, and why."""

    number: int
    reason: str


def read_chargebacks(path: Path) -> Iterator[Chargeback | BadLine]:
    """Read a file of JSON lines; what cannot be used comes as a `BadLine`."""
    first_seen: dict[str, int] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                event = Chargeback.model_validate_json(line)
            except ValidationError as error:
                yield BadLine(number, _first_reason(error))
                continue
            seen = first_seen.setdefault(event.event_id, number)
            if seen != number:
                yield BadLine(number, f"event {event.event_id!r} was already on line {seen}")
            else:
                yield event


def _first_reason(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
