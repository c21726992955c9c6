"""Measures every port once, at the port: calls, answers and time, whatever the backend."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter, time
from typing import TypeVar

from prometheus_client import Histogram

from beam_agents.effector.metrics import Metrics
from beam_agents.effector.ports import (
    Claim,
    ClaimAnswer,
    CompleteAnswer,
    DedupRecord,
    DedupStore,
    Delivery,
    Headers,
    RefusalAnswer,
    Sink,
    Source,
    Stored,
)

_T = TypeVar("_T")


async def _measured(
    call: Awaitable[_T],
    histogram: Histogram,
    *labels: str,
    name: Callable[[_T], str] = lambda _: "ok",
) -> _T:
    """Await a call, and note how long it took and what it answered or raised."""
    began_s = perf_counter()
    answer = "cancelled"
    try:
        value = await call
        answer = name(value)
        return value
    except Exception as error:
        answer = type(error).__name__
        raise
    finally:
        histogram.labels(*labels, answer).observe(perf_counter() - began_s)


def _kind(answer: object) -> str:
    return type(answer).__name__


class MeteredStore:
    """A dedup store, measured; see `DedupStore` for what each call means."""

    def __init__(self, store: DedupStore, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics
        self._seconds = metrics.store_seconds

    async def open(self) -> None:
        """Pass on."""
        await self._store.open()

    async def aclose(self) -> None:
        """Pass on."""
        await self._store.aclose()

    async def now_ms(self) -> int | None:
        """Pass on, measured."""
        return await _measured(self._store.now_ms(), self._seconds, "now_ms")

    async def claim(
        self, intent_id: str, fingerprint: bytes, token: str, *, lease_ms: int, expires_at_ms: int
    ) -> ClaimAnswer:
        """Pass on, measured."""
        call = self._store.claim(
            intent_id, fingerprint, token, lease_ms=lease_ms, expires_at_ms=expires_at_ms
        )
        return await _measured(call, self._seconds, "claim", name=_kind)

    async def mark_invoked(self, claim: Claim) -> bool:
        """Pass on, measured."""
        return await _measured(self._store.mark_invoked(claim), self._seconds, "mark_invoked")

    async def renew(self, claims: Sequence[Claim], *, lease_ms: int) -> Sequence[Claim]:
        """Pass on, measured."""
        call = self._store.renew(claims, lease_ms=lease_ms)
        return await _measured(call, self._seconds, "renew")

    async def complete(
        self, claim: Claim, fingerprint: bytes, result: bytes, *, expires_at_ms: int
    ) -> CompleteAnswer:
        """Pass on, measured."""
        call = self._store.complete(claim, fingerprint, result, expires_at_ms=expires_at_ms)
        answer = await _measured(call, self._seconds, "complete", name=_kind)
        self._count(answer)
        return answer

    async def record_refusal(
        self,
        intent_id: str,
        fingerprint: bytes,
        *,
        if_never_claimed: bytes,
        if_claimed: bytes,
        expires_at_ms: int,
    ) -> RefusalAnswer:
        """Pass on, measured."""
        call = self._store.record_refusal(
            intent_id,
            fingerprint,
            if_never_claimed=if_never_claimed,
            if_claimed=if_claimed,
            expires_at_ms=expires_at_ms,
        )
        answer = await _measured(call, self._seconds, "record_refusal", name=_kind)
        self._count(answer)
        return answer

    async def release(self, claim: Claim) -> bool:
        """Pass on, measured."""
        return await _measured(self._store.release(claim), self._seconds, "release")

    async def redeem(self, grant_id: str, intent_id: str, *, keep_until_ms: int) -> bool:
        """Pass on, measured."""
        call = self._store.redeem(grant_id, intent_id, keep_until_ms=keep_until_ms)
        return await _measured(call, self._seconds, "redeem")

    async def lookup(self, intent_id: str) -> DedupRecord | None:
        """Pass on, measured."""
        return await _measured(self._store.lookup(intent_id), self._seconds, "lookup")

    def _count(self, answer: CompleteAnswer | RefusalAnswer) -> None:
        """Count a result that was agreed on just now; an approval request has none."""
        if isinstance(answer, Stored) and answer.result:
            self._metrics.count_result(answer.result)


class MeteredSink:
    """A topic that is written to, measured; see `Sink` for what each call means."""

    def __init__(self, topic: str, sink: Sink, metrics: Metrics) -> None:
        self._topic = topic
        self._sink = sink
        self._seconds = metrics.publish_seconds

    async def open(self) -> None:
        """Pass on."""
        await self._sink.open()

    async def publish(self, *, key: bytes, value: bytes, headers: Headers = ()) -> None:
        """Pass on, measured."""
        call = self._sink.publish(key=key, value=value, headers=headers)
        await _measured(call, self._seconds, self._topic)

    async def check(self) -> None:
        """Pass on."""
        await self._sink.check()

    async def aclose(self) -> None:
        """Pass on."""
        await self._sink.aclose()


class MeteredSource:
    """The intents topic, measured; see `Source` for what each call means.

    Args:
        source: The topic.
        metrics: Where measurements go.
    """

    def __init__(self, source: Source, metrics: Metrics) -> None:
        self._source = source
        self._metrics = metrics
        self.open = source.open
        self.done = source.done
        self.pause = source.pause
        self.resume = source.resume

    async def fetch(self) -> Sequence[Delivery]:
        """Pass on, and note how far behind we are."""
        deliveries = await self._source.fetch()
        if deliveries:
            youngest_ms = max(delivery.timestamp_ms for delivery in deliveries)
            self._metrics.fetched.inc(len(deliveries))
            self._metrics.lag_seconds.set(max(0.0, time() - youngest_ms / 1000))
        return deliveries

    async def commit(self) -> None:
        """Pass on, measured."""
        await _measured(self._source.commit(), self._metrics.commit_seconds)

    async def lag(self) -> Mapping[str, int]:
        """Pass on."""
        return await self._source.lag()

    async def check(self) -> None:
        """Pass on."""
        await self._source.check()

    async def aclose(self) -> None:
        """Pass on."""
        await self._source.aclose()
