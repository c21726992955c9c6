"""The one spelling that a string has for a date, a duration, a UUID, or a decimal.

Without it pydantic also reads numbers in strings as timestamps, "1_000" as a decimal,
and months as thirty days.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import EncodedBytes, EncodedStr

_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_OFFSET = "([Zz]|[+-][0-9]{2}:[0-9]{2})"
_DAYS = "([0-9]+W([0-9]+D)?|[0-9]+D)"
_SECONDS = r"[0-9]+(\.[0-9]{1,6})?S"
_HOURS = f"([0-9]+H([0-9]+M)?({_SECONDS})?|[0-9]+M({_SECONDS})?|{_SECONDS})"
_DURATION = f"[+-]?P({_DAYS}(T{_HOURS})?|T{_HOURS})"
_DECIMAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_HEX = "[0-9a-fA-F]"
_ENCODED = {
    "base64": "([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?",
    "base64url": "([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?",
}


def pattern_of(node: Mapping[str, Any]) -> str:
    """Return the pattern that strings must match for a node of pydantic's core schema."""
    return f"^{_spelling(node)}$"


def encoding_of(node: Mapping[str, Any]) -> str | None:
    """Return the pattern of strings that a node decodes, if it does (`Base64Bytes` …)."""
    decoder = getattr(node["function"]["function"], "__self__", None)
    if not isinstance(decoder, (EncodedBytes, EncodedStr)):
        return None
    spelling = _ENCODED.get(decoder.encoder.get_json_format())
    return f"^{spelling}$" if spelling else None


def _spelling(node: Mapping[str, Any]) -> str:
    kind = node["type"]
    if kind == "date":
        return _DATE
    if kind == "time":
        return _CLOCK + _offset(node)
    if kind == "datetime":
        return f"{_DATE}[Tt ]{_CLOCK}{_offset(node)}"
    if kind == "timedelta":
        return _DURATION
    if kind == "uuid":
        version = node.get("version") or _HEX
        return f"{_HEX}{{8}}-{_HEX}{{4}}-{version}{_HEX}{{3}}-{_HEX}{{4}}-{_HEX}{{12}}"
    return _DECIMAL


def _offset(node: Mapping[str, Any]) -> str:
    constraint = node.get("tz_constraint")
    if constraint is None:
        return f"{_OFFSET}?"
    return "" if constraint == "naive" else _OFFSET
