"""The readers of a worker process, kept open from one bundle of a partition to its next.

They are the process's, since a runner may hand the next bundle to another copy of the
step, and to open one takes several round trips to a broker that may be away.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable

from beam_agents.io.address import TopicAddress
from beam_agents.io.logs import LogReader
from beam_agents.io.schemes import open_reader

# A partition that has moved to another worker does not come back.
_UNUSED_S = 60.0


class OpenReaders:
    """One reader for each partition that a step reads; those that are not asked for are closed.

    Args:
        open_reader: Opens a partition.
    """

    def __init__(self, open_reader: Callable[[TopicAddress, int], LogReader]) -> None:
        self._open = open_reader
        self._readers: dict[tuple[str, int], LogReader] = {}
        self._used_at: dict[tuple[str, int], float] = {}
        self._lock = threading.Lock()

    def reader(self, address: TopicAddress, partition: int) -> LogReader:
        """Return the reader of a partition.

        Raises:
            TopicUnavailable: It cannot be opened.
        """
        place = address.use, partition
        with self._lock:
            now = time.monotonic()
            if place not in self._readers:
                self._readers[place] = self._open(address, partition)
            self._used_at[place] = now
            for each in [other for other, at in self._used_at.items() if now - at > _UNUSED_S]:
                self._close(each)
            return self._readers[place]

    def close(self) -> None:
        """Close them all."""
        with self._lock:
            for place in list(self._readers):
                self._close(place)

    def _close(self, place: tuple[str, int]) -> None:
        del self._used_at[place]
        self._readers.pop(place).close()


OPEN_READERS = OpenReaders(open_reader)
atexit.register(OPEN_READERS.close)
