"""A model for tests: it answers by the first rule that matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NoReturn, TypeAlias

Matcher: TypeAlias = Callable[[bytes], bool]
Behaviour: TypeAlias = Callable[[bytes], bytes]


class FakeLLM:
    """A `ModelProvider` that follows a list of rules.

    Attributes:
        requests: Every request so far, in order.
    """

    def __init__(self, rules: Iterable[tuple[Matcher, Behaviour]]) -> None:
        self._rules = tuple(rules)
        self.requests: list[bytes] = []

    async def complete(self, request: bytes) -> bytes:
        """Answer by the first rule that matches.

        Raises:
            LookupError: No rule matches.
        """
        self.requests.append(request)
        for matches, behave in self._rules:
            if matches(request):
                return behave(request)
        raise LookupError(f"no rule of FakeLLM matches {request!r:.200}: add (match_any(), …) last")


def match_any() -> Matcher:
    """Match every request."""
    return lambda request: True


def match_contains(part: bytes | str) -> Matcher:
    """Match a request that contains these bytes, or this text in UTF-8."""
    wanted = _bytes(part)
    return lambda request: wanted in request


def respond_with(answer: bytes | str) -> Behaviour:
    """Answer with these bytes, or this text in UTF-8."""
    response = _bytes(answer)
    return lambda request: response


def raise_error(error: BaseException | type[BaseException]) -> Behaviour:
    """Raise instead of answering."""

    def behave(request: bytes) -> NoReturn:
        raise error

    return behave


def _bytes(text: bytes | str) -> bytes:
    return text.encode() if isinstance(text, str) else text
