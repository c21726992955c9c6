"""What a command that only looks, or says one thing, needs of the effector's settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace

from beam_agents.effector.errors import EffectorError, OperatorError
from beam_agents.effector.reading import read_setting
from beam_agents.effector.schemes import Connections
from beam_agents.effector.settings import SETTINGS, SETTINGS_BY_NAME, Settings
from beam_agents.intents.topics import mask_uri

SILENT = 1
MISTAKE = 2
NOT_THERE = 3


def connections() -> Connections:
    """Read how to reach servers from the environment, as the effector would.

    Raises:
        ValueError: A variable is not what it must be.
    """
    values = {
        setting.name: read_setting(setting, {}, os.environ)
        for setting in SETTINGS
        if setting.option.env_only
    }
    wiring = dict.fromkeys((each.name for each in SETTINGS if each.required), "")
    return Settings(**{**wiring, **values}).connections()  # type: ignore[arg-type]


def given_or_set(name: str, given: str | None) -> str:
    """Return what the command line gives for a setting, else what its variable says.

    Raises:
        OperatorError: Neither does.
        ValueError: It is not what it must be.
    """
    value = read_optional(name, given)
    if value is None:
        setting = SETTINGS_BY_NAME[name]
        raise OperatorError(f"{setting.flag} (or {setting.variable}) is missing")
    return value


def read_optional(name: str, given: str | None) -> str | None:
    """Return what the command line gives for a setting, else what its variable says, else None.

    Raises:
        ValueError: It is not what it must be.
    """
    setting = replace(SETTINGS_BY_NAME[name], default=None)
    value = read_setting(setting, {name: given}, os.environ)
    return None if value is None else str(value)


def answering(command: Callable[[], int]) -> int:
    """Run a command, and say in one line what went wrong.

    Returns:
        Its exit code; 1 where a server does not answer, 2 for a mistake.
    """
    try:
        return command()
    except EffectorError as error:
        return complain(str(error), error.exit_code)
    except (ConnectionError, TimeoutError) as error:
        return complain(str(error), SILENT)
    except ValueError as error:
        return complain(str(error), MISTAKE)


def complain(mistake: str, code: int) -> int:
    """Write a line to stderr; return the exit code."""
    print(f"beam-agents-effector: {mask_uri(mistake)}", file=sys.stderr)  # noqa: T201
    return code
