"""What one go at an intent comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Agreed:
    """The one terminal result of the intent; empty where nothing is to be published.

    `stored`: the store holds it. Not so the answer to a conflict, which every copy gets anew.
    """

    result: bytes
    stored: bool = True


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing is agreed yet: go at it again, after a wait that grows each time."""

    first_ms: int = 100
    longest_ms: int = 2_000

    def ms(self, waits: int) -> int:
        """Say how long to wait after so many waits."""
        return min(self.first_ms << min(waits, 20), self.longest_ms)


Step: TypeAlias = Agreed | Wait

# Ask again at once.
NOW = Wait(0, 0)
# The store did not answer.
SILENCE = Wait()
# Another release may know the tool.
ROLLOUT = Wait(1_000, 30_000)


def busy(retry_after_ms: int) -> Wait:
    """Another worker has the claim: it may finish long before its lease ends."""
    return Wait(longest_ms=max(1, min(retry_after_ms, 2_000)))
