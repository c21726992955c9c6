"""One provider a worker process, and the answers that a retried bundle need not pay twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from beam_agents.model.memo import AnswerMemo
from beam_agents.model.provider import ModelProvider

# A DoFn is unpickled once a bundle on some runners, and clients are expensive:
# what is below outlives it. Both are used on the activations' event loop only.
_providers: dict[str, ModelProvider] = {}
_memo = AnswerMemo()


@dataclass(frozen=True, slots=True)
class ModelClient:
    """Calls the process's provider, once for each request of an activation.

    Attributes:
        factory: Makes the provider when it is first needed.
        token: Names the pipeline step: its copies share the provider and the answers.
    """

    factory: Callable[[], ModelProvider]
    token: str

    async def complete(self, call: tuple[bytes, int, int], request: bytes) -> bytes:
        """Answer from memory, or ask the provider.

        Args:
            call: Key, seq and index of the call within the activation.
            request: What is sent to the provider.

        Raises:
            TypeError: The request, or what the provider returned, is not bytes.
        """
        if not isinstance(request, bytes):
            raise TypeError(f"a model request must be bytes, not {type(request).__name__}")
        place = (self.token, *call, sha256(request).digest())
        answer = _memo.get(place)
        if answer is None:
            answer = await self._provider().complete(request)
            if not isinstance(answer, bytes):
                raise TypeError(f"a provider must return bytes, not {type(answer).__name__}")
            _memo.put(place, answer)
        return answer

    def _provider(self) -> ModelProvider:
        provider = _providers.get(self.token)
        if provider is None:
            provider = _providers[self.token] = self.factory()
        return provider
