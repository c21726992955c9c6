"""The emergency stop: tools that are not to run, named on the command line or in a file."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from difflib import get_close_matches
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

        known: The tools that there are; of other names a warning is logged.

    Raises:
        ValueError: The file cannot be read.
    """

    def __init__(self, text: str, known: Collection[str] | None = None) -> None:
        self._known = known
        self._judged: frozenset[str] = frozenset()
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
        if self._names != self._judged:
            self._warn_of_strangers()
        return self._names

    def _warn_of_strangers(self) -> None:
        self._judged = self._names
        if self._known is None:
            return
        for name in sorted(self._names - set(self._known)):
            close = get_close_matches(name, self._known, n=1)
            meant = f"; did you mean {close[0]!r}?" if close else ""
            _LOG.warning("--refuse-tools: no tool here is called %r%s", name, meant)

    def _reread(self, path: Path) -> None:
        status = os.stat(path)
        version = status.st_mtime_ns, status.st_ino
        if version != self._version:
            self._names = _names(path.read_text(encoding="utf-8"))
            self._version = version


def _names(text: str) -> frozenset[str]:
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return frozenset(name for name in lines if name)
