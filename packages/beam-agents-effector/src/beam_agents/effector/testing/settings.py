"""The settings of a worker under test, named like those of the command line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

from beam_agents.effector.config import EffectorOptions
from beam_agents.intents.keyring import Keyring
from beam_agents.intents.signing import Signer

_OPTIONS = frozenset(field.name for field in fields(EffectorOptions))


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What a worker is built with, beside its ports."""

    options: EffectorOptions
    intent_keys: Keyring | None
    approval_keys: Keyring | None
    signer: Signer | None
    refused_tools: Callable[[], Collection[str]]
    approvals_to: bool
    dead_letters_to: bool

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> WorkerSettings:
        """Read keyword arguments.

        Args:
            given: Any option of `EffectorOptions`; `signing_keys` and `approval_keys`
                (a `Keyring` or a reference to one), `sign_results` (a key id),
                `refuse_tools` (names, or a function that returns them), and
                `approvals_to` and `dead_letters_to` (None for no such topic).

        Raises:
            TypeError: There is no such setting.
        """
        rest = dict(given)
        options = {name: rest.pop(name) for name in _OPTIONS & rest.keys()}
        keys = _keyring(rest.pop("signing_keys", None))
        signing_key = rest.pop("sign_results", None)
        settings = cls(
            options=EffectorOptions(**{"commit_interval_ms": 0, **options}),
            intent_keys=keys,
            approval_keys=_keyring(rest.pop("approval_keys", None)),
            signer=Signer(keys, signing_key) if keys and signing_key else None,
            refused_tools=_names(rest.pop("refuse_tools", ())),
            approvals_to=rest.pop("approvals_to", True) is not None,
            dead_letters_to=rest.pop("dead_letters_to", True) is not None,
        )
        if rest:
            raise TypeError(f"the effector has no setting {', '.join(map(repr, sorted(rest)))}")
        return settings


def _keyring(given: Keyring | str | None) -> Keyring | None:
    return Keyring.load(given) if isinstance(given, str) else given


def _names(
    given: str | Collection[str] | Callable[[], Collection[str]],
) -> Callable[[], Collection[str]]:
    if callable(given):
        return given
    names = frozenset(given.split(",") if isinstance(given, str) else given)
    return lambda: names
