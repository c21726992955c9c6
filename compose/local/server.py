"""What a module in `servers/` says about its server, as `SERVER`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from compose.local import servers
from compose.local.places import Port


class Unusable(Exception):
    """A server cannot be started here; the message says what to do about it."""


@dataclass(frozen=True)
class Server:
    """One server process.

    Attributes:
        port: Where it listens.
        prepare: Makes what the server needs in its folder, where that is not there
            yet, and returns the command line that runs it in the foreground.
        ask: Puts a real question to the server at the port, and raises `OSError`
            where no good answer comes.
        patience_s: How long it may take to answer after its start.
    """

    port: Port
    prepare: Callable[[Path], list[str]]
    ask: Callable[[int], None]
    patience_s: int


def known_names() -> list[str]:
    """The servers there are: one module each."""
    return [module.name for module in pkgutil.iter_modules(servers.__path__)]


def server_named(name: str) -> Server:
    """Find a server by the name of its module."""
    if name not in known_names():
        raise Unusable(f"no server {name!r}; there are {', '.join(known_names())}")
    found = importlib.import_module(f"{servers.__name__}.{name}").SERVER
    if not isinstance(found, Server):
        raise TypeError(f"SERVER of {name!r} is {found!r}, not a Server")
    return found
