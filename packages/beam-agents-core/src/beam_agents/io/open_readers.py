"""The readers of a worker, kept open from one bundle of a partition to its next."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from beam_agents.io.logs import LogReader

# A partition that has moved to another worker does not come back.
_UNUSED_S = 60.0


class OpenReaders:
    """One reader a partition; those that are no longer asked for are closed.

    Args:
        open_reader: Opens a partition.
    """

    def __init__(self, open_reader: Callable[[int], LogReader]) -> None:
        self._open = open_reader
        self._readers: dict[int, LogReader] = {}
        self._used_at: dict[int, float] = {}
        self._lock = threading.Lock()

    def reader(self, partition: int) -> LogReader:
        """Return the reader of a partition."""
        with self._lock:
            now = time.monotonic()
            if partition not in self._readers:
                self._readers[partition] = self._open(partition)
            self._used_at[partition] = now
            for each in [p for p, at in self._used_at.items() if now - at > _UNUSED_S]:
                self._close(each)
            return self._readers[partition]

    def close(self) -> None:
        """Close them all."""
        with self._lock:
            for partition in list(self._readers):
                self._close(partition)

    def _close(self, partition: int) -> None:
        del self._used_at[partition]
        self._readers.pop(partition).close()
