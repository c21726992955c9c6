"""What the ending of a tool's call comes to: a result, or another run."""

from __future__ import annotations

from collections.abc import Callable

from beam_agents.effector.attempt import Attempt
from beam_agents.effector.error_text import error_text
from beam_agents.effector.invocation import Ended, Returned, TimedOut
from beam_agents.intents.outcome import Outcome
from beam_agents.tools import NotApplied, Retryable, encode_result


class Endings:
    """Turns endings into results.

    Args:
        max_result_bytes: How large an encoded value may be.
        type_only: Whether results tell only the types of exceptions.
    """

    def __init__(self, *, max_result_bytes: int, type_only: bool) -> None:
        self._max_result_bytes = max_result_bytes
        self._type_only = type_only

    def result(self, attempt: Attempt, ending: Ended) -> bytes:
        """Build the one result that a call comes to."""
        if isinstance(ending, Returned):
            if isinstance(ending.value, NotApplied):
                return self._not_applied(attempt, ending.value)
            return self._value(attempt, ending.value, attempt.ok)
        if isinstance(ending, TimedOut):
            message = f"the tool did not end within its timeout of {ending.after_ms} ms"
            return attempt.error(Outcome.UNKNOWN, message)
        if isinstance(ending.error, NotApplied):
            return self._not_applied(attempt, ending.error)
        outcome = ending.error.outcome if isinstance(ending.error, Retryable) else Outcome.UNKNOWN
        return attempt.error(outcome, error_text(ending.error, type_only=self._type_only))

    def applied(self, attempt: Attempt, value: object) -> bytes:
        """Build the result of an effect that an earlier attempt had."""
        return self._value(attempt, value, attempt.ok)

    def _not_applied(self, attempt: Attempt, error: NotApplied) -> bytes:
        message = error_text(error, type_only=self._type_only)
        if error.detail is None:
            return attempt.error(Outcome.NOT_APPLIED, message)
        return self._value(
            attempt,
            error.detail,
            lambda detail: attempt.error(Outcome.NOT_APPLIED, message, detail),
            otherwise=Outcome.NOT_APPLIED,
        )

    def _value(
        self,
        attempt: Attempt,
        value: object,
        build: Callable[[bytes], bytes],
        otherwise: Outcome = Outcome.APPLIED,
    ) -> bytes:
        """Encode a value; one that cannot be sent still says what became of the effect."""
        try:
            payload = encode_result(value)
        except BaseException as error:  # its own methods may raise anything
            return attempt.error(otherwise, error_text(error, type_only=self._type_only))
        if len(payload) > self._max_result_bytes:
            return attempt.error(
                otherwise,
                f"the tool's result has {len(payload)} bytes; "
                f"at most {self._max_result_bytes} can be sent",
            )
        return build(payload)
