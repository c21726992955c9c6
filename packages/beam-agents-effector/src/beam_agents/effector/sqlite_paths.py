"""What can be said of the path of a sqlite file before it is opened."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit


def path_mistake(path: str) -> str | None:
    """Say why no file can be used at a path until somebody mends the setting or the host."""
    folder = Path(path).parent
    if path == ":memory:":
        return "':memory:' keeps nothing, and nobody else sees it: name a file"
    if not folder.is_dir():
        return f"there is no folder {str(folder)!r}: make it, or name another"
    if Path(path).is_dir():
        return f"{path!r} is a folder: name a file in it"
    file = Path(path) if Path(path).exists() else folder
    if not os.access(file, os.R_OK | os.W_OK):
        return f"{str(file)!r} may not be read and written by the user of this process"
    return None


def shared_file(store: str, topics: Iterable[str]) -> str | None:
    """Return the file that the URIs of the store and of a topic both lead to, if any."""
    path = _path_of(store)
    if path is None:
        return None
    used = {_path_of(topic) for topic in topics}
    return path if path in used else None


def _path_of(uri: str) -> str | None:
    parts = urlsplit(uri)
    if parts.scheme != "sqlite":
        return None
    return os.path.realpath(unquote(parts.path).removeprefix("/"))
