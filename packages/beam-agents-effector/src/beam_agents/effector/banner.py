"""What a worker says of itself when it starts: one line, by which its log can be read."""

from __future__ import annotations

import logging
from hashlib import sha256
from importlib.metadata import version

from beam_agents.effector.preparation import Prepared
from beam_agents.effector.settings import Settings
from beam_agents.effector.sqlite_paths import shared_file
from beam_agents.intents.topics import mask_uri
from beam_agents.tools import ToolRegistry
from beam_agents.tools.canonical_json import canonical_json

_LOG = logging.getLogger("beam_agents.effector")

_TOPICS_AND_STORE = ("intents_from", "results_to", "approvals_to", "dead_letters_to", "dedup")
_BUDGETS = (
    "lease_ms",
    "tool_timeout_ms",
    "result_ttl_ms",
    "shutdown_grace_ms",
    "max_in_flight",
    "max_waiting",
    "max_result_bytes",
    "sync_threads",
)


def announce(prepared: Prepared) -> None:
    """Log the start of a worker, and what its operator should know about it."""
    settings = prepared.settings
    _LOG.info("starting", extra=banner_fields(prepared))
    if settings.dedup.startswith("memory:"):
        _LOG.warning(
            "the dedup store is in memory: after a restart every redelivered intent runs again; "
            "use redis:// or sqlite:// for effects that count"
        )
    shared = shared_file(settings.dedup, _topics(settings))
    if shared is not None:
        _LOG.warning(
            "the dedup store shares the file %r with a topic, and each waits for the other's "
            "writes: give the store a file of its own",
            shared,
        )
    prepared.refused_tools()  # warns of names that no tool has


def banner_fields(prepared: Prepared) -> dict[str, object]:
    """Name version, registry, backends and budgets."""
    settings = prepared.settings
    return {
        "version": version("beam-agents-effector"),
        "registry": settings.registry,
        "tools": len(prepared.registry),
        "manifest_digest": manifest_digest(prepared.registry),
        "at_least_once": ",".join(at_least_once(prepared.registry)) or "none",
        **_masked(settings),
        "consumer_group": settings.consumer_group,
        "verify_intents": settings.verify_intents,
        **{name: getattr(settings, name) for name in _BUDGETS},
    }


def at_least_once(registry: ToolRegistry) -> list[str]:
    """Name the tools whose effect may happen again after a crash: nothing tells them the intent."""
    return [tool.name for tool in registry if tool.side_effect and not tool.takes_intent]


def manifest_digest(registry: ToolRegistry) -> str:
    """Name a set of tools: the same wherever names, schemas and options are the same."""
    return sha256(canonical_json(registry.manifest())).hexdigest()[:16]


def _masked(settings: Settings) -> dict[str, str]:
    return {name: mask_uri(uri) for name, uri in _uris(settings).items()}


def _uris(settings: Settings) -> dict[str, str]:
    uris = {name: getattr(settings, name) for name in _TOPICS_AND_STORE}
    return {name: uri for name, uri in uris.items() if uri is not None}


def _topics(settings: Settings) -> list[str]:
    return [uri for name, uri in _uris(settings).items() if name != "dedup"]
