"""A bounded memory of answers: the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

_ENTRY_BYTES = 256  # about what an entry weighs beside its answer


class AnswerMemo:
    """Maps places to answers, up to a total of bytes."""

    def __init__(self, max_bytes: int = 64 * 1_048_576) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._answers: OrderedDict[Hashable, bytes] = OrderedDict()

    def get(self, place: Hashable) -> bytes | None:
        """Return the answer kept for a place."""
        answer = self._answers.get(place)
        if answer is not None:
            self._answers.move_to_end(place)
        return answer

    def put(self, place: Hashable, answer: bytes) -> None:
        """Keep an answer, and forget the least recently used beyond the limit."""
        if place not in self._answers:
            self._answers[place] = answer
            self._bytes += _ENTRY_BYTES + len(answer)
        while self._bytes > self._max_bytes:
            _, dropped = self._answers.popitem(last=False)
            self._bytes -= _ENTRY_BYTES + len(dropped)
