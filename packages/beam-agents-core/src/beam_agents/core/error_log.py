"""Error records in the worker's log: an `.errors` that nobody reads must not be silence."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from hashlib import sha256

from beam_agents._protos import ActivationErrorRecord

PERIOD_S = 60.0
PER_PERIOD = 5

_DETAIL_CHARS = 300
_log = logging.getLogger(__name__)


class ErrorLog:
    """Logs the first records of each minute, and how many it left out.

    Args:
        now_s: A monotonic clock; nothing but the log depends on it.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._began_s = now_s()
        self._told = 0
        self._left_out = 0

    def tell(self, record: ActivationErrorRecord) -> None:
        """Log a record, by its key's digest and without payloads, unless there were many."""
        if self._now_s() - self._began_s >= PERIOD_S:
            self._began_s, self._told = self._now_s(), 0
        if self._told == PER_PERIOD:
            self._left_out += 1
            return
        self._told += 1
        if self._left_out:
            _log.error("%d more error records were not logged; all are on .errors", self._left_out)
            self._left_out = 0
        _log.error(
            "%s: namespace %r, key digest %s, seq %d: %s (the whole record is on .errors)",
            record.reason,
            record.namespace,
            sha256(record.entity_key).hexdigest()[:16],
            record.seq,
            record.detail.partition("\n")[0][:_DETAIL_CHARS],
        )


# Runners make DoFns anew for each bundle; what is told too often is the process's.
of_process = ErrorLog()
