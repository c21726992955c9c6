"""What must hold between a registry and the options before anything is fetched."""

from __future__ import annotations

from collections.abc import Iterator

from beam_agents.effector.config import EffectorOptions
from beam_agents.tools import ToolRegistry


def broken_preconditions(
    registry: ToolRegistry, options: EffectorOptions, *, approval_keys: bool
) -> Iterator[str]:
    """Say, a line each, why these tools cannot be served with these options."""
    lease_ms, unrenewed = options.lease_ms, options.no_lease_renewal
    if unrenewed and lease_ms <= options.tool_timeout_ms:
        yield (
            f"with --no-lease-renewal --lease-ms must exceed --tool-timeout-ms, else a tool "
            f"outlives its claim: {lease_ms} <= {options.tool_timeout_ms}"
        )
    for tool in registry:
        if tool.requires_approval and not approval_keys and options.verify_intents != "require":
            yield (
                f"the tool {tool.name!r} requires an approval, and anybody could write one: "
                f"give --approval-keys, or --verify-intents require"
            )
        if unrenewed and tool.timeout_ms is not None and lease_ms <= tool.timeout_ms:
            yield (
                f"with --no-lease-renewal --lease-ms must exceed every tool's timeout: "
                f"{lease_ms} <= {tool.timeout_ms} of {tool.name!r}"
            )
