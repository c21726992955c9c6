"""From settings to what a service is made of; everything that can be wrong is found here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast

from beam_agents.effector.config import EffectorOptions
from beam_agents.effector.errors import AuthorError
from beam_agents.effector.reading import Reading
from beam_agents.effector.refused_tools import RefusedTools
from beam_agents.effector.schemes import STORE_CALL_TIMEOUT_MS
from beam_agents.effector.settings import Settings
from beam_agents.intents.keyring import Keyring
from beam_agents.intents.signing import Signer
from beam_agents.tools import RegistryError, ToolRegistry
from beam_agents.tools.errors import RegistryImportError


@dataclass(frozen=True, slots=True)
class Prepared:
    """Settings that hold no mistake, and what they refer to."""

    settings: Settings
    registry: ToolRegistry
    intent_keys: Keyring | None
    approval_keys: Keyring | None
    signer: Signer | None
    refused_tools: Callable[[], Collection[str]]

    def options(self) -> EffectorOptions:
        """Give the engine its knobs."""
        settings = self.settings
        return EffectorOptions(
            verify_intents=settings.verify_intents,
            lease_ms=settings.lease_ms,
            no_lease_renewal=settings.no_lease_renewal,
            tool_timeout_ms=settings.tool_timeout_ms,
            shutdown_grace_ms=settings.shutdown_grace_ms,
            unknown_tool=settings.unknown_tool,
            error_detail=settings.error_detail,
            max_in_flight=settings.max_in_flight,
            max_waiting=settings.max_waiting,
            max_result_bytes=settings.max_result_bytes,
            sync_threads=settings.sync_threads,
            store_call_timeout_ms=STORE_CALL_TIMEOUT_MS,
        )


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
    refused_tools = reading.resolve("refuse_tools", RefusedTools)
    signer = None
    if intent_keys is not None:
        signer = reading.resolve("sign_results", partial(_signer, intent_keys))
    if registry is not None and reading.values.get("no_lease_renewal"):
        reading.mistakes += _outlived_leases(registry, reading.values.get("lease_ms"))
    return Prepared(
        settings=reading.settings(),
        registry=cast("ToolRegistry", registry),  # None is a mistake, and those are out
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


def _outlived_leases(registry: ToolRegistry, lease_ms: int | None) -> list[str]:
    return [
        f"--lease-ms must exceed every tool's timeout with --no-lease-renewal, and {tool.name!r} "
        f"may run longer: {lease_ms} <= {tool.timeout_ms}"
        for tool in registry
        if lease_ms is not None and tool.timeout_ms is not None and tool.timeout_ms >= lease_ms
    ]
