"""What a tool may say of its effect, beyond returning a value or raising."""

from __future__ import annotations

from dataclasses import dataclass

from beam_agents.intents.outcome import Outcome
from beam_agents.tools.errors import OutcomeError


class NotApplied(Exception):
    """The effect did not happen and will not: "card declined".

    Raise it from a tool, or return it: both mean `ERROR` with outcome
    `NOT_APPLIED`. Return it from `reconcile`: the tool runs now.

    Attributes:
        message: For people and models.
        detail: Becomes the result's payload; anything that a tool may return.
    """

    def __init__(self, message: str = "", *, detail: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail


class Retryable(Exception):
    """Running the tool again may help.

    Raise it from a tool: it runs again with backoff, within the lesser of its
    timeout and the intent's deadline.

    Attributes:
        message: For people and models, should no attempt succeed.
        retry_after_ms: Wait at least this long; None leaves it to the backoff.
        outcome: Of the effect, should there be no time for another attempt.

    Raises:
        OutcomeError: `retry_after_ms` or `outcome` cannot be meant.
    """

    def __init__(
        self,
        message: str = "",
        *,
        retry_after_ms: int | None = None,
        outcome: Outcome = Outcome.UNKNOWN,
    ) -> None:
        if retry_after_ms is not None and (type(retry_after_ms) is not int or retry_after_ms < 0):
            raise OutcomeError(
                f"retry_after_ms={retry_after_ms!r} must be milliseconds from 0 on, or None"
            )
        if type(outcome) is not int or outcome not in Outcome.values():
            known = ", ".join(f"Outcome.{name}" for name in Outcome.keys())  # noqa: SIM118 (no dict)
            raise OutcomeError(f"outcome={outcome!r} must be one of {known}")
        super().__init__(message)
        self.message = message
        self.retry_after_ms = retry_after_ms
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Applied:
    """Returned by `reconcile`: the effect happened, and this is the tool's value."""

    value: object = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Returned by `reconcile`: nobody can tell whether the effect happened."""

    message: str = ""
