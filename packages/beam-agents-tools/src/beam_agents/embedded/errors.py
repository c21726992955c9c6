"""What can go wrong with an embedded bus."""

from __future__ import annotations


class BusError(Exception):
    """Root of the embedded bus's errors."""


class BusUnavailable(BusError, ConnectionError):
    """The file cannot be read or written now: locked too long, a full disk, gone, no folder."""


class BusReplaced(BusError):
    """Another file lies where ours was: its offsets are not ours. Open the bus anew."""


class BusVersionError(BusError):
    """The file was written by a newer version of this package, which must be used to open it."""


class ConsumerFenced(BusError):
    """The group is no longer ours: another consumer took over, and nothing was committed."""
