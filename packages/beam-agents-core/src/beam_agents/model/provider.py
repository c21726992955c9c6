"""The port to a model: a client that answers bytes with bytes."""

from __future__ import annotations

from typing import Protocol


class ModelProvider(Protocol):
    """A client of a model, one a worker process, used from one event loop only."""

    async def complete(self, request: bytes) -> bytes:
        """Answer a request, or raise what the agent function may catch."""
