"""What `--http` serves, on a real service in memory and over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientSession
from prometheus_client import CollectorRegistry

from beam_agents.effector.backends.memory_log import MemoryTopic
from beam_agents.effector.backends.memory_store import MemoryStore
from beam_agents.effector.config import EffectorOptions
from beam_agents.effector.errors import OperatorError
from beam_agents.effector.logs import key_digest
from beam_agents.effector.metrics import MOST_PARTITIONS, Metrics
from beam_agents.effector.observation import Observation
from beam_agents.effector.service import EffectorService
from beam_agents.effector.testing.quiet import let_callbacks_run
from beam_agents.effector.testing.stepped_clock import SteppedClock
from beam_agents.effector.web import serving
from tests.unit.effector.requests import Gate, request

_PREFIX = "beam_agents_effector_"


class StoreOfAnotherTime(MemoryStore):
    """A store whose clock is off."""

    async def now_ms(self) -> int:
        return await super().now_ms() + 5_001


class StoreThatIsDown(MemoryStore):
    async def now_ms(self) -> int:
        raise ConnectionError("redis://r:6379 does not answer")


class Watched:
    """A service that is watched; its tools run until the gate opens."""

    def __init__(self, store: type[MemoryStore]) -> None:
        self.clock = SteppedClock()
        self.gate = Gate()
        self.intents = MemoryTopic("intents", clock=self.clock)
        self.source = self.intents.source()
        self.observation = Observation(
            self.gate.registry,
            source=self.source,
            store=store(clock=self.clock),
            sinks={"results": MemoryTopic("results", clock=self.clock).sink()},
            clock=self.clock,
            max_clock_skew_ms=5_000,
        )
        self.service = EffectorService(
            registry=self.gate.registry,
            source=self.observation.source,
            results=self.observation.sinks["results"],
            store=self.observation.store,
            options=EffectorOptions(commit_interval_ms=0),
            clock=self.clock,
            probe=self.observation.unfinished,
        )
        self.observation.watch(self.service)

    async def send(self, *, tool: str = "charge", seq: int = 0, n: int = 0) -> None:
        value = request(tool, {"n": n} if n else {}, seq=seq).SerializeToString()
        self.intents.append(key=b"acct-1", value=value)
        await let_callbacks_run()

    def metric(self, name: str, **labels: str) -> float | None:
        registry: CollectorRegistry = self.observation.metrics.registry
        return registry.get_sample_value(_PREFIX + name, labels)


@asynccontextmanager
async def running(store: type[MemoryStore] = MemoryStore) -> AsyncIterator[Watched]:
    watched = Watched(store)
    task = asyncio.ensure_future(watched.service.run())
    await let_callbacks_run()
    yield watched
    watched.service.stop()
    watched.service.stop()
    await task


async def get(watched: Watched, path: str) -> tuple[int, Any]:
    async with (
        serving("127.0.0.1:0", watched.observation) as address,
        ClientSession() as session,
        session.get(f"http://{address}{path}") as response,
    ):
        return response.status, await (response.json() if path == "/lanes" else response.text())


async def test_a_running_worker_is_alive_and_ready() -> None:
    async with running() as watched:
        assert await get(watched, "/healthz") == (200, "ok\n")
        assert await get(watched, "/readyz") == (200, "ready\n")


async def test_a_worker_that_has_not_started_is_not_ready() -> None:
    assert await get(Watched(MemoryStore), "/readyz") == (503, "the worker starts, or stops\n")


async def test_a_worker_that_stops_is_not_ready() -> None:
    async with running() as watched:
        await watched.send()
        watched.service.stop()
        assert await watched.observation.readiness.obstacles() == ["the worker starts, or stops"]


async def test_a_worker_whose_store_is_down_is_not_ready_and_says_so() -> None:
    async with running(StoreThatIsDown) as watched:
        status, text = await get(watched, "/readyz")
    assert status == 503
    assert text == "the dedup store: redis://r:6379 does not answer\n"


async def test_a_worker_whose_clock_is_off_is_not_ready_and_says_so() -> None:
    async with running(StoreOfAnotherTime) as watched:
        [obstacle] = await watched.observation.readiness.obstacles()
    assert "5001 ms off ours, more than --max-clock-skew-ms 5000" in obstacle


async def test_lanes_tell_what_the_oldest_intent_of_a_key_waits_for() -> None:
    async with running() as watched:
        await watched.send()
        await watched.send(seq=1)
        watched.clock.step(watched.clock.now_ms() + 250)
        _, lanes = await get(watched, "/lanes")
    assert lanes == [
        {
            "intent_id": request().intent_id,
            "key_digest": key_digest(b"acct-1"),
            "phase": "execute",
            "tool": "charge",
            "age_ms": 250,
            "waits_for": "its tool",
            "partition": "intents/0",
            "offset": 0,
        }
    ]


async def test_what_is_in_hand_is_measured() -> None:
    async with running() as watched:
        await watched.send()
        await watched.send(seq=1)
        watched.clock.step(watched.clock.now_ms() + 2_000)
        assert watched.metric("unfinished") == 2
        assert watched.metric("oldest_unfinished_seconds") == 2
        assert watched.metric("running_tools") == 1
        assert watched.metric("lease_margin_seconds") == 25  # 30 s, less a tenth, less 2 s


async def test_nothing_is_in_hand_once_all_is_committed() -> None:
    async with running() as watched:
        watched.gate.open()
        await watched.send()
        assert watched.metric("unfinished") == 0
        assert watched.metric("oldest_unfinished_seconds") == 0
        assert watched.metric("phase_seconds_count", phase="commit") == 1


async def test_a_result_is_counted_once_however_often_it_is_published() -> None:
    async with running() as watched:
        watched.gate.open()
        for _ in range(3):
            await watched.send()
        labels = {"tool": "charge", "status": "OK", "outcome": "APPLIED"}
        assert watched.metric("results_total", **labels) == 1
        assert watched.metric("invocations_total", tool="charge") == 1
        assert watched.metric("publish_seconds_count", topic="results", answer="ok") == 3
        claims = {"operation": "claim", "answer": "Completed"}
        assert watched.metric("store_seconds_count", **claims) == 2


async def test_an_answer_to_a_conflict_is_counted_though_no_store_holds_it() -> None:
    async with running() as watched:
        watched.gate.open()
        await watched.send()
        await watched.send(n=1)
        labels = {"tool": "charge", "status": "REJECTED", "outcome": "UNKNOWN"}
        assert watched.metric("results_total", **labels) == 1


async def test_a_tool_that_nobody_knows_has_no_label_of_its_own() -> None:
    async with running() as watched:
        await watched.send(tool="made_up")
        labels = {"status": "REJECTED", "outcome": "NOT_APPLIED"}
        assert watched.metric("results_total", tool="other", **labels) == 1
        assert watched.metric("results_total", tool="made_up", **labels) is None


async def test_what_another_worker_has_now_is_forgotten() -> None:
    async with running() as watched:
        await watched.send()
        watched.observation.unfinished.lose(["intents/0"])
        assert watched.metric("unfinished") == 0


async def test_the_lag_of_a_partition_is_shown_while_it_is_ours() -> None:
    async with running() as watched:
        for seq in range(3):
            await watched.send(seq=seq)
        _, text = await get(watched, "/metrics")
        assert 'beam_agents_effector_lag_records{partition="intents/0"} 3.0' in text

        watched.source.give_up({0})
        _, text = await get(watched, "/metrics")
        assert "lag_records{" not in text


async def test_a_lag_that_is_not_known_is_not_shown() -> None:
    watched = Watched(MemoryStore)
    watched.observation.metrics.show_lag({"intents/0": 7})
    watched.source.lag = _unknown  # type: ignore[method-assign]

    _, text = await get(watched, "/metrics")

    assert "lag_records{" not in text


def test_partitions_without_number_have_no_label_each() -> None:
    metrics = Metrics([])

    metrics.show_lag({f"intents/{number}": number for number in range(MOST_PARTITIONS + 2)})

    def lag(partition: str) -> float | None:
        labels = {"partition": partition}
        return metrics.registry.get_sample_value(_PREFIX + "lag_records", labels)

    assert lag("intents/101") == 101
    assert (lag("intents/1"), lag("intents/0"), lag("other")) == (None, None, 1)


async def _unknown() -> dict[str, int]:
    raise ConnectionError("no broker answers")


async def test_metrics_are_served_as_prometheus_reads_them() -> None:
    async with running() as watched:
        status, text = await get(watched, "/metrics")
    assert status == 200
    assert "# HELP beam_agents_effector_oldest_unfinished_seconds Age of the oldest" in text


async def test_an_address_that_is_taken_is_for_the_operator_to_mend() -> None:
    watched = Watched(MemoryStore)
    async with serving("127.0.0.1:0", watched.observation) as address:
        with pytest.raises(OperatorError, match="cannot listen there"):
            async with serving(address, watched.observation):
                pass
