"""The emergency stop: tools that are not to run, named on the command line or in a file."""

from __future__ import annotations

import logging
import os
from pathlib import Path

_LOG = logging.getLogger(__name__)
_FILE = "file:"


class RefusedTools:
    """The names, read again whenever their file changes; called before each run of a tool.

    A file that cannot be read any more leaves the names as they were: what was
    stopped stays stopped.

    Args:
        text: Names separated by commas, or `file:PATH` of a file with a name a line,
            `#` for comments.

    Raises:
        ValueError: The file cannot be read.
    """

    def __init__(self, text: str) -> None:
        self._path = Path(text.removeprefix(_FILE)) if text.startswith(_FILE) else None
        self._names = _names(text.replace(",", "\n"))
        self._version: tuple[int, int] | None = None
        if self._path is not None:
            try:
                self._reread(self._path)
            except (OSError, UnicodeDecodeError) as error:
                raise ValueError(f"cannot read {str(self._path)!r}: {error}") from None

    def __call__(self) -> frozenset[str]:
        """Return the names of the tools that are not to run now."""
        if self._path is not None:
            try:
                self._reread(self._path)
            except (OSError, UnicodeDecodeError) as error:
                _LOG.warning("refused tools stay as they were: %s", error)
        return self._names

    def _reread(self, path: Path) -> None:
        status = os.stat(path)
        version = status.st_mtime_ns, status.st_ino
        if version != self._version:
            self._names = _names(path.read_text(encoding="utf-8"))
            self._version = version


def _names(text: str) -> frozenset[str]:
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return frozenset(name for name in lines if name)
