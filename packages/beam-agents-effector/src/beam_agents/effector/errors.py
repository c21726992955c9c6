"""The effector's errors, by who must act."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class EffectorError(Exception):
    """Root of the effector's errors. The message is one line that a person can act on."""

    exit_code: ClassVar[int] = 1


class AuthorError(EffectorError):
    """The author of the tools must act: the registry cannot be served."""

    exit_code = 2


class OperatorError(EffectorError):
    """Whoever started the effector must act: a setting is wrong."""

    exit_code = 2


class SettingsError(OperatorError):
    """The settings hold mistakes: all of them, so that one start shows what to mend."""

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("; ".join(self.mistakes))


class MissingExtra(OperatorError):
    """A backend's client library is not installed."""

    def __init__(self, scheme: str, extra: str) -> None:
        self.extra = extra
        super().__init__(
            f"{scheme}:// needs the extra {extra!r}: pip install 'beam-agents-effector[{extra}]'"
        )


class TopicMissing(OperatorError):
    """The topic is not there, and is not made in passing: its partitions are a decision."""


class BackendUnavailable(EffectorError, ConnectionError):
    """A server does not answer, or refuses us, at start."""
