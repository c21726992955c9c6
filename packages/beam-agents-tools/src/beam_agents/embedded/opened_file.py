"""Notices that the file behind an open connection is not the one at its path any more.

A deleted file can still be written: what is committed to it is seen by nobody else, and
gone with the process. Two processes that look at one path would each have a truth of
their own.
"""

from __future__ import annotations

import os
from enum import Enum


class Place(Enum):
    """What is at the path of a file that was opened."""

    UNCHANGED = "unchanged"
    GONE = "gone"
    REPLACED = "replaced"


class OpenedFile:
    """Remembers which file was opened.

    Args:
        path: Where it was; looked up at once.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._opened = _identity(path)

    def place(self) -> Place:
        """Look at the path again; whatever was never at a path cannot leave it."""
        found = _identity(self._path)
        if found == self._opened or self._opened is None:
            return Place.UNCHANGED
        return Place.GONE if found is None else Place.REPLACED


def _identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
