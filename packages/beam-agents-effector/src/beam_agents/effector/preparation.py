"""From settings to what a service is made of; everything that can be wrong is found here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from beam_agents.effector.config import EffectorOptions
from beam_agents.effector.errors import AuthorError
from beam_agents.effector.preconditions import broken_preconditions
from beam_agents.effector.reading import Reading
from beam_agents.effector.refused_tools import RefusedTools
from beam_agents.effector.schemes import STORE_CALL_TIMEOUT_MS
from beam_agents.effector.settings import SETTINGS_BY_NAME, Settings
from beam_agents.intents.keyring import Keyring
from beam_agents.intents.signing import Signer
from beam_agents.tools import RegistryError, ToolRegistry
from beam_agents.tools.errors import RegistryImportError

_KNOBS = {field.name for field in fields(EffectorOptions)} & SETTINGS_BY_NAME.keys()


@dataclass(frozen=True, slots=True)
class Prepared:
    """Settings that hold no mistake, and what they refer to."""

    settings: Settings
    options: EffectorOptions
    registry: ToolRegistry
    intent_keys: Keyring | None
    approval_keys: Keyring | None
    signer: Signer | None
    refused_tools: Callable[[], Collection[str]]


def prepare(given: Mapping[str, object], environ: Mapping[str, str]) -> Prepared:
    """Read the settings and load what they refer to.

    Args:
        given: What the command line gives, by setting name.
        environ: The environment.

    Raises:
        SettingsError: With every mistake that there is.
    """
    reading = Reading(given, environ)
    registry = reading.resolve("registry", load_registry)
    intent_keys = reading.resolve("signing_keys", Keyring.load)
    approval_keys = reading.resolve("approval_keys", Keyring.load)
    known = None if registry is None else [tool.name for tool in registry]
    refused_tools = reading.resolve("refuse_tools", partial(RefusedTools, known=known))
    signer = None
    if intent_keys is not None:
        signer = reading.resolve("sign_results", partial(_signer, intent_keys))
    options = _engine_options(reading.values)
    if options is not None:
        reading.mistakes += broken_preconditions(
            registry or ToolRegistry(), options, approval_keys=approval_keys is not None
        )
    settings = reading.settings()
    if registry is None or options is None:
        raise AssertionError("without a mistake there is a registry, and every option")
    return Prepared(
        settings,
        options,
        registry,
        intent_keys=intent_keys,
        approval_keys=approval_keys,
        signer=signer,
        refused_tools=refused_tools or frozenset,
    )


def load_registry(path: str) -> ToolRegistry:
    """Import a registry, from the working directory too, as other workers do.

    Raises:
        AuthorError: In one line.
    """
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return ToolRegistry.load(path)
    except RegistryImportError as error:
        first, *frames = str(error).splitlines()
        place = next((f" ({line.strip()})" for line in reversed(frames) if " line " in line), "")
        raise AuthorError(f"{first}: {frames[-1].strip()}{place}") from error
    except RegistryError as error:
        raise AuthorError(str(error)) from error


def _signer(keys: Keyring, key_id: str) -> Signer:
    keys.signing_key(key_id)  # so that a key which cannot sign is found now
    return Signer(keys, key_id)


def _engine_options(values: Mapping[str, Any]) -> EffectorOptions | None:
    """Take the engine's knobs out of the settings; None where one of them is a mistake."""
    if not values.keys() >= _KNOBS:
        return None
    knobs = {name: values[name] for name in _KNOBS}
    return EffectorOptions(**knobs, store_call_timeout_ms=STORE_CALL_TIMEOUT_MS)
