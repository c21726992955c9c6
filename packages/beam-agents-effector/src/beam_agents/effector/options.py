"""How a setting describes itself: its flag, its environment variable, its help, its rule.

Nothing here needs pydantic, so that `--help` does not wait for it.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ENV_PREFIX = "EFFECTOR_"


@dataclass(frozen=True, slots=True)
class Option:
    """What a setting says of itself, in the metadata of its annotation.

    Attributes:
        group: The heading under which `--help` shows it.
        metavar: What stands for the value there; empty for a switch.
        help: One sentence.
        env_only: Read from the environment only: a command line is seen by all.
        secret: Never printed; may also be the content of the file that `…_FILE` names.
        least: The smallest number allowed.
        check: Says what is wrong with a value that has the right type, or nothing.
    """

    group: str
    metavar: str
    help: str
    env_only: bool = False
    secret: bool = False
    least: int | None = None
    check: Callable[[Any], str | None] | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of the settings model, with everything that is known of it."""

    name: str
    annotation: Any
    default: object
    option: Option

    @property
    def flag(self) -> str:
        """Its command-line option."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return ENV_PREFIX + self.name.upper()

    @property
    def shown_name(self) -> str:
        """What a message calls it."""
        return self.variable if self.option.env_only else self.flag

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is dataclasses.MISSING

    @property
    def is_switch(self) -> bool:
        """Whether the option takes no value."""
        return self.default is False


def settings_of(model: type) -> tuple[Setting, ...]:
    """List the settings of a model, a dataclass whose annotations hold an `Option` each."""
    annotations = typing.get_type_hints(model, include_extras=True)
    return tuple(
        Setting(field.name, annotations[field.name], field.default, _option(annotations, field))
        for field in dataclasses.fields(model)
    )


def _option(annotations: dict[str, Any], field: dataclasses.Field[Any]) -> Option:
    for note in annotations[field.name].__metadata__:
        if isinstance(note, Option):
            return note
    raise TypeError(f"the setting {field.name!r} lacks its Option")
