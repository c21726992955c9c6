"""What the demo runs in: a bus, a ledger, a pipeline process and two effector processes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from beam_agents._protos import ActivationErrorRecord, ToolResult
from beam_agents.embedded import EmbeddedBus
from chargebacks import Chargeback
from ledger import Ledger
from processes import Supervisor

# How long a dead effector's claims, and its place in the group, keep the other waiting.
LEASE_MS = 5_000


class World:
    """The files of one run, all in one folder, and the processes that share them."""

    def __init__(self, folder: Path, supervisor: Supervisor) -> None:
        self.folder = folder
        self.supervisor = supervisor
        self.bus = EmbeddedBus(folder / "bus.sqlite")
        self.ledger = Ledger(folder / "ledger.sqlite")

    def publish(self, events: Iterable[Chargeback]) -> None:
        for event in events:
            value = event.model_dump_json().encode()
            self.bus.publish("chargebacks", key=event.account.encode(), value=value)

    def start(self, events: int) -> None:
        """Start the processes. The fewer the events, the slower their provider is made."""
        latency_ms = max(10, 2_000 // events)
        state = str(self.folder / "pipeline.sqlite")
        bus = str(self.folder / "bus.sqlite")
        self.supervisor.start("pipeline", "pipeline.py", "--bus", bus, "--state", state)
        for name in ("effector-1", "effector-2"):
            self.supervisor.start(
                name, "-m", "beam_agents.effector", env=self._settings(latency_ms)
            )

    def outputs(self) -> int:
        return self.bus.end_offset("completions")

    def first_error(self) -> str | None:
        """What the pipeline could not do, if there is something."""
        for record in self.bus.records("errors", limit=1):
            error = ActivationErrorRecord.FromString(record.value or b"")
            return f"{error.entity_key!r}: {error.reason}: {error.detail}"
        return None

    def answered(self) -> set[str]:
        """The intents that have a result."""
        results = self.bus.records("results")
        return {ToolResult.FromString(record.value or b"").intent_id for record in results}

    def _settings(self, latency_ms: int) -> dict[str, str]:
        bus = f"sqlite:///{self.folder / 'bus.sqlite'}"
        return {
            "LEDGER": self.ledger.path,
            "PROVIDER_LATENCY_MS": str(latency_ms),
            "EFFECTOR_REGISTRY": "payments:TOOLS",
            "EFFECTOR_INTENTS_FROM": f"{bus}?topic=intents&lease_ms={LEASE_MS}",
            "EFFECTOR_RESULTS_TO": f"{bus}?topic=results",
            "EFFECTOR_DEDUP": f"sqlite:///{self.folder / 'dedup.sqlite'}",
            "EFFECTOR_LEASE_MS": str(LEASE_MS),
            "EFFECTOR_MAX_CLOCK_SKEW_MS": "1000",  # all of one host
        }
