"""Reads the settings from the command line and the environment, and gathers every mistake."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from beam_agents.effector.environment import read_variable, unknown_variables
from beam_agents.effector.errors import EffectorError, SettingsError
from beam_agents.effector.options import Setting
from beam_agents.effector.rules import broken_rules
from beam_agents.effector.settings import SETTINGS, SETTINGS_BY_NAME, Settings
from beam_agents.intents.topics import mask_uri

_T = TypeVar("_T")

# For every number: some thirty years in milliseconds, and more threads than there are.
_MOST = 10**12


class Reading:
    """The settings as far as they could be read.

    Attributes:
        values: The valid ones, by name.
        mistakes: What is wrong with the others, a line each.
    """

    def __init__(self, given: Mapping[str, object], environ: Mapping[str, str]) -> None:
        """Read everything.

        Args:
            given: What the command line gives, by setting name; wins over the environment.
            environ: The environment.
        """
        self.values: dict[str, Any] = {}
        self.mistakes: list[str] = list(unknown_variables(SETTINGS, environ))
        for setting in SETTINGS:
            self._read(setting, given, environ)
        self.mistakes += broken_rules(self.values)

    def resolve(self, name: str, load: Callable[[str], _T]) -> _T | None:
        """Load what a setting refers to; None where it is not set, or cannot be loaded."""
        setting, reference = SETTINGS_BY_NAME[name], self.values.get(name)
        if reference is None:
            return None
        try:
            return load(reference)
        except (ValueError, OSError, EffectorError) as error:
            self.mistakes.append(f"{setting.flag}: {error}")
            return None

    def _read(
        self, setting: Setting, given: Mapping[str, object], environ: Mapping[str, str]
    ) -> None:
        try:
            self.values[setting.name] = read_setting(setting, given, environ)
        except ValueError as error:
            self.mistakes.append(str(error))

    def settings(self) -> Settings:
        """Return the settings.

        Raises:
            SettingsError: There were mistakes.
        """
        if self.mistakes:
            raise SettingsError(self.mistakes)
        return Settings(**self.values)


def read_settings(given: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
    """Read the settings; the command line wins over the environment.

    Raises:
        SettingsError: With every mistake that there is.
    """
    return Reading(given, environ).settings()


def read_setting(
    setting: Setting, given: Mapping[str, object], environ: Mapping[str, str]
) -> object:
    """Read one setting: what is given, else what the environment says, else its default.

    Raises:
        ValueError: It is missing, or is not what it must be.
    """
    source, value = setting.shown_name, given.get(setting.name)
    if value is None:
        source, value = setting.variable, read_variable(setting, environ)
    if value is not None:
        return _validated(setting, source, value)
    if setting.required:
        raise ValueError(f"{setting.flag} (or {setting.variable}) is missing")
    return setting.default


def _validated(setting: Setting, source: str, value: object) -> object:
    if value == "":  # a template that rendered to nothing must not switch a check off
        raise ValueError(f"{source} is empty: give it a value, or leave it out")
    if isinstance(value, str) and value.encode(errors="replace").decode() != value:
        raise ValueError(f"{source} is not UTF-8 text")
    try:
        least = setting.option.least
        most = None if least is None else _MOST
        bounded: Any = Annotated[(setting.annotation, Field(ge=least, le=most))]
        valid = TypeAdapter(bounded).validate_python(value)
    except ValidationError as error:
        # Only the message: pydantic's own text repeats the input, which may be a secret.
        reason = error.errors(include_url=False)[0]["msg"]
        shown = "" if setting.option.secret else f"{mask_uri(str(value))!r}: "
        raise ValueError(f"{source}: {shown}{reason[0].lower()}{reason[1:]}") from None
    check = setting.option.check
    mistake = check(valid) if check is not None else None
    if mistake is not None:
        raise ValueError(f"{source}: {mistake}")
    return valid
