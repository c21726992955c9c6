"""What the engine can be told: plain values, checked by whoever read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectorOptions:
    """The knobs of one `EffectorService`, named like the settings of the command line.

    Attributes:
        verify_intents: Whether intents must be signed; `permissive` runs unsigned ones.
        lease_ms: How long a claim lasts unless it is renewed.
        no_lease_renewal: Never renew; the lease must then exceed every tool's timeout.
        tool_timeout_ms: How long a tool may run that does not say so itself.
        shutdown_grace_ms: How long running tools may go on once the service stops.
        unknown_tool: Whether to hold an unknown tool's intent until a worker knows it.
        error_detail: Whether a result tells an exception's text, or only its type.
        max_in_flight: How many tools run at once.
        max_waiting: How many records of a partition may wait in memory.
        max_uncommitted: How far a partition may run ahead of its oldest unfinished record.
        max_result_bytes: How large a tool's encoded result may be.
        sync_threads: How many threads run the tools that are not async.
        store_call_timeout_ms: How long a refusal waits for the store's answer.
        commit_interval_ms: How long the service rests between two commits.
    """

    verify_intents: Literal["off", "permissive", "require"] = "off"
    lease_ms: int = 30_000
    no_lease_renewal: bool = False
    tool_timeout_ms: int = 20_000
    shutdown_grace_ms: int = 25_000
    unknown_tool: Literal["reject", "wait"] = "reject"
    error_detail: Literal["full", "type"] = "full"
    max_in_flight: int = 1_000
    max_waiting: int = 1_000
    max_uncommitted: int = 100_000
    max_result_bytes: int = 900_000
    sync_threads: int = 32
    store_call_timeout_ms: int = 5_000
    commit_interval_ms: int = 100
