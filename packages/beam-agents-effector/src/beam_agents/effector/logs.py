"""Log lines with fields, as text for people or as JSON for machines.

Whoever logs passes fields as `extra=`: what is known of an intent, the same names
everywhere (`intent_fields`). Nothing is logged of arguments, keys or secrets.
"""

from __future__ import annotations

import hashlib
import logging
import sys
import time
from typing import Any, Literal, TextIO

from pythonjsonlogger.json import JsonFormatter

from beam_agents.intents.topics import mask_uri

# What the logging library itself puts on a record; everything else is a field of ours.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def intent_fields(
    intent_id: str, entity_key: bytes, *, attempt: int = 0, phase: str = ""
) -> dict[str, Any]:
    """Name what is known of an intent, for `extra=`; the key only as a digest."""
    fields: dict[str, Any] = {"intent_id": intent_id, "key_digest": key_digest(entity_key)}
    if attempt:
        fields["attempt"] = attempt
    if phase:
        fields["phase"] = phase
    return fields


def key_digest(entity_key: bytes) -> str:
    """Name a key in logs: the same for the same key, without giving it away."""
    return hashlib.sha256(entity_key).hexdigest()[:16]


def configure_logs(
    form: Literal["text", "json"], level: str, *, stream: TextIO | None = None
) -> None:
    """Send all log lines of this process to a stream, by default stderr."""
    target = logging.StreamHandler(stream or sys.stderr)
    target.setFormatter(MaskedJsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[target], force=True)
    # Its every retry is a line; what matters of them we say ourselves.
    logging.getLogger("aiokafka").setLevel(max(logging.WARNING, logging.root.level))


class TextFormatter(logging.Formatter):
    """Writes time, level, message, and the fields as `name=value`; masks credentials."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """Append the fields to the first line, before any traceback."""
        fields = (f" {name}={value}" for name, value in vars(record).items() if _is_field(name))
        return super().formatMessage(record) + "".join(fields)

    def format(self, record: logging.LogRecord) -> str:
        """Write the whole entry."""
        return mask_uri(super().format(record))


class MaskedJsonFormatter(JsonFormatter):
    """Writes one JSON object a line, with the fields as members; masks credentials."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__(
            "%(asctime)s %(levelname)s %(name)s %(message)s",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
        )

    def format(self, record: logging.LogRecord) -> str:
        """Write the whole entry."""
        return mask_uri(super().format(record))


def _is_field(name: str) -> bool:
    return name not in _STANDARD and not name.startswith("_")
