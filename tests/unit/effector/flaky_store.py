"""A memory store that can fall silent, and that keeps count of what it is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.ports import (
    Claim,
    ClaimAnswer,
    CompleteAnswer,
    RefusalAnswer,
    StoreUnavailable,
)

_A = TypeVar("_A")


class FlakyStore(MemoryStore):
    """Set `silent` to calls that are not carried out, `unheard` to calls whose reply is lost."""

    silent: frozenset[str] = frozenset()
    unheard: frozenset[str] = frozenset()
    failure: type[Exception] = StoreUnavailable

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.calls: list[str] = []
        self.claims: list[str] = []

    def forget_everything(self) -> None:
        """Lose all records, as a flush does."""
        self._records.clear()
        self._ends.clear()

    async def claim(self, *args: Any, **kwargs: Any) -> ClaimAnswer:
        self.claims.append(args[2])
        return await self._ask("claim", super().claim, *args, **kwargs)

    async def mark_invoked(self, *args: Any, **kwargs: Any) -> bool:
        return await self._ask("mark_invoked", super().mark_invoked, *args, **kwargs)

    async def renew(self, *args: Any, **kwargs: Any) -> Sequence[Claim]:
        return await self._ask("renew", super().renew, *args, **kwargs)

    async def complete(self, *args: Any, **kwargs: Any) -> CompleteAnswer:
        return await self._ask("complete", super().complete, *args, **kwargs)

    async def record_refusal(self, *args: Any, **kwargs: Any) -> RefusalAnswer:
        return await self._ask("record_refusal", super().record_refusal, *args, **kwargs)

    async def release(self, *args: Any, **kwargs: Any) -> bool:
        return await self._ask("release", super().release, *args, **kwargs)

    async def redeem(self, *args: Any, **kwargs: Any) -> bool:
        return await self._ask("redeem", super().redeem, *args, **kwargs)

    async def _ask(
        self, name: str, call: Callable[..., Awaitable[_A]], *args: Any, **kwargs: Any
    ) -> _A:
        self.calls.append(name)
        if name in self.silent:
            raise self.failure("the store is down")
        answer = await call(*args, **kwargs)
        if name in self.unheard:
            raise self.failure("the store is down")
        return answer
