"""Intents and tools that the tests of the engine share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from beam_agents._protos import ToolIntent
from beam_agents.intents import build_intent
from beam_agents.tools import ToolRegistry, tool

NOW_MS = 1_700_000_000_000
LEASE_MS = 30_000


def request(
    tool_name: str = "charge",
    args: str | Mapping[str, object] = "{}",
    *,
    key: bytes = b"acct-1",
    seq: int = 0,
    ttl_ms: int = 3_600_000,
    **rest: Any,
) -> ToolIntent:
    """Build an intent of the present."""
    return build_intent(
        tool_name,
        args,
        entity_key=key,
        seq=seq,
        created_at_ms=NOW_MS,
        expires_at_ms=NOW_MS + ttl_ms,
        **rest,
    )


class Gate:
    """A tool that runs until it is let through, and notes who came and who left."""

    def __init__(self, **options: Any) -> None:
        self.entered: list[int] = []
        self.left: list[int] = []
        self.cancelled = 0
        self._open = asyncio.Event()

        @tool(name="charge", side_effect=True, **options)
        async def charge(n: int = 0) -> int:
            self.entered.append(n)
            try:
                await self._open.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            self.left.append(n)
            return n

        self.registry = ToolRegistry(charge)

    def open(self) -> None:
        self._open.set()
