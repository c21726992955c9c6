"""The model calls of one run, counted so that a retry finds its answers again."""

from __future__ import annotations

from beam_agents.core.errors import ContextError
from beam_agents.core.run import Run
from beam_agents.model.client import ModelClient


class ModelCalls:
    """Numbers the calls of an activation over all its runs.

    Attributes:
        count: How many calls the activation has made.
    """

    __slots__ = ("_client", "_run", "count")

    def __init__(self, run: Run, client: ModelClient | None) -> None:
        self._run = run
        self._client = client
        self.count = run.continuation.model_calls if run.continuation is not None else 0

    async def complete(self, request: bytes) -> bytes:
        """Ask the model; see `ActivationContext.call_model`."""
        if self._client is None:
            raise ContextError("there is no model: set AgentConfig(provider_factory=…)")
        if not isinstance(request, bytes):
            raise TypeError(f"a model request must be bytes, not {type(request).__name__}")
        call = self.count
        self.count += 1
        return await self._client.complete((self._run.key, self._run.seq, call), request)
