"""Every metric of the effector, with its meaning; `/metrics` serves them.

No label grows with the traffic: a tool that the registry does not know counts as
`other`, and neither keys nor intent ids are labels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from google.protobuf.message import DecodeError
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from beam_agents._protos import ToolResult

OTHER = "other"
MOST_PARTITIONS = 100
_PREFIX = "beam_agents_effector"
_CALLS_S = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_WORK_S = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Metrics:
    """The metrics of one worker.

    Args:
        tool_names: The tools that have a label of their own.
    """

    def __init__(self, tool_names: Collection[str]) -> None:
        self._tool_names = frozenset(tool_names)
        self.registry = CollectorRegistry()
        self.phase_seconds = self._histogram(
            "phase_seconds", "How long a phase took, its waits included.", ["phase"], _WORK_S
        )
        self.tool_seconds = self._histogram(
            "tool_seconds", "From a tool's first call to its result.", ["tool"], _WORK_S
        )
        self.invocations = self._counter("invocations", "Calls of tools.", ["tool"])
        self.results = self._counter(
            "results",
            "Terminal results that this worker stored, and every answer to a conflict; "
            "copies of stored ones do not count.",
            ["tool", "status", "outcome"],
        )
        self.events = self._counter(
            "events", "Dead letters by reason, and what was let through all the same.", ["event"]
        )
        self.store_seconds = self._histogram(
            "store_seconds",
            "A call of the dedup store, by what it answered.",
            ["operation", "answer"],
            _CALLS_S,
        )
        self.publish_seconds = self._histogram(
            "publish_seconds", "One try to publish.", ["topic", "answer"], _CALLS_S
        )
        self.commit_seconds = self._histogram(
            "commit_seconds", "A commit of offsets.", ["answer"], _CALLS_S
        )
        self.fetched = self._counter("fetched", "Records handed out by the intents topic.", [])
        self.lag_seconds = self._gauge(
            "lag_seconds", "Age of the youngest record of the last fetch: how far behind we read."
        )

        self._lag = Gauge(
            f"{_PREFIX}_lag_records",
            "Offsets from a partition's first unfinished record to its end. "
            f"Those of all but {MOST_PARTITIONS} partitions count together, as {OTHER!r}.",
            ["partition"],
            registry=self.registry,
        )

    def show_lag(self, lag: Mapping[str, int]) -> None:
        """Show how far behind the partitions of ours are; those of others are shown no more."""
        self._lag.clear()
        by_lag = sorted(lag, key=lambda name: (-lag[name], name))
        for name in by_lag[:MOST_PARTITIONS]:
            self._lag.labels(name).set(lag[name])
        if rest := by_lag[MOST_PARTITIONS:]:
            self._lag.labels(OTHER).set(sum(lag[name] for name in rest))

    def count_result(self, encoded: bytes) -> None:
        """Count a terminal result, and how long its tool took."""
        try:
            result = ToolResult.FromString(encoded)
        except DecodeError:
            return  # whoever made it: to measure an answer must not change it
        tool = self.tool(result.tool_name)
        status = ToolResult.Status.Name(result.status)
        outcome = ToolResult.Outcome.Name(result.outcome)
        self.results.labels(tool, status, outcome).inc()
        if result.started_at_ms:
            seconds = (result.completed_at_ms - result.started_at_ms) / 1000
            self.tool_seconds.labels(tool).observe(seconds)

    def tool(self, name: str) -> str:
        """Return the label of a tool."""
        return name if name in self._tool_names else OTHER

    def watch(
        self,
        *,
        unfinished: Callable[[], float],
        oldest_seconds: Callable[[], float],
        running_tools: Callable[[], float],
        lease_margin_seconds: Callable[[], float],
        stuck_topics: Callable[[], float],
    ) -> None:
        """Read these whenever the metrics are asked for."""
        for name, meaning, read in [
            ("unfinished", "Intents fetched and not finished: waiting or running.", unfinished),
            ("oldest_unfinished_seconds", "Age of the oldest unfinished intent.", oldest_seconds),
            ("running_tools", "Tools that run, those given up included.", running_tools),
            (
                "lease_margin_seconds",
                "Time until the claim that ends first is given up; NaN without a claim.",
                lease_margin_seconds,
            ),
            ("stuck_topics", "Topics that do not take a record now.", stuck_topics),
        ]:
            self._gauge(name, meaning).set_function(read)

    def _counter(self, name: str, meaning: str, labels: list[str]) -> Counter:
        return Counter(f"{_PREFIX}_{name}", meaning, labels, registry=self.registry)

    def _gauge(self, name: str, meaning: str) -> Gauge:
        return Gauge(f"{_PREFIX}_{name}", meaning, registry=self.registry)

    def _histogram(
        self, name: str, meaning: str, labels: list[str], buckets: tuple[float, ...]
    ) -> Histogram:
        return Histogram(
            f"{_PREFIX}_{name}", meaning, labels, buckets=buckets, registry=self.registry
        )
