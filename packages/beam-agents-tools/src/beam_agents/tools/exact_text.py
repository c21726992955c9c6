"""The one text of a point in time, a duration or a decimal: what arguments take back as it was.

Pydantic's own writes 400 days as a year and 35 days, 4200 as 4.2E+3, and leaves the seconds
out of an offset.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TypeAlias

from pydantic_core import to_jsonable_python

Exact: TypeAlias = date | datetime | time | timedelta | Decimal
EXACT = (date, datetime, time, timedelta, Decimal)

_MINUTE = timedelta(minutes=1)
_MAX_DIGITS = 4_300  # as many as Python writes of an int


def exact_text(value: Exact) -> str:
    """Write a value in ISO 8601, or in plain digits.

    Raises:
        TypeError: No text would be exact; the message says why.
    """
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, (datetime, time)):
        _require_offset_in_minutes(value)
    return str(to_jsonable_python(value))


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise TypeError("NaN and infinities have no JSON form")
    if abs(value.adjusted()) > _MAX_DIGITS or len(value.as_tuple().digits) > _MAX_DIGITS:
        raise TypeError("is a decimal of too many digits")
    return format(value, "f")


def _duration(value: timedelta) -> str:
    size = abs(value)
    minutes, seconds = divmod(size.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{size.microseconds:06}".rstrip("0").rstrip(".")
    parts = (
        (hours, f"{hours}H"),
        (minutes, f"{minutes}M"),
        (fraction or seconds, f"{seconds}{fraction}S"),
    )
    time_of_day = "".join(text for amount, text in parts if amount)
    days = f"{size.days}D" if size.days else ""
    if not (days or time_of_day):
        return "PT0S"
    return f"{'-' if value < timedelta() else ''}P{days}{time_of_day and 'T'}{time_of_day}"


def _require_offset_in_minutes(value: datetime | time) -> None:
    if value.tzinfo is None:
        return
    offset = value.utcoffset()
    if offset is None:
        raise TypeError("has a time zone, and without a date no UTC offset")
    if offset % _MINUTE:
        raise TypeError("has a UTC offset with seconds, which ISO 8601 cannot write")
