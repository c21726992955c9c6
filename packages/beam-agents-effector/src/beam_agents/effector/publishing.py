"""Publishing until it succeeds: a record that is durable in the store must reach its topic."""

from __future__ import annotations

import asyncio
import logging

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type
from tenacity.wait import wait_random_exponential

from beam_agents._protos import ToolResult
from beam_agents.effector.logs import intent_fields
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import Clock, Headers, RecordTooLarge, Sink
from beam_agents.effector.results import Results
from beam_agents.intents.topics import type_header

_log = logging.getLogger(__name__)

# What a sink raises that cannot take a record now.
_SINK_SILENT = (ConnectionError, TimeoutError, asyncio.TimeoutError)

_RESULT_HEADERS = (type_header(ToolResult),)
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 10.0


class Publisher:
    """Publishes to one sink, and tells whether it is stuck.

    Args:
        name: What the topic is for, in log lines.
        sink: Where records go.
        clock: Times the retries.
    """

    def __init__(self, name: str, sink: Sink, clock: Clock) -> None:
        self.name = name
        self.sink = sink
        self._clock = clock
        self._stuck = 0
        self._flows = asyncio.Event()
        self._flows.set()

    @property
    def is_stuck(self) -> bool:
        """Whether a record waits for the sink to take it."""
        return self._stuck > 0

    async def flowing(self) -> None:
        """Wait until no record is stuck."""
        await self._flows.wait()

    async def publish(self, *, key: bytes, value: bytes, headers: Headers = ()) -> None:
        """Return once the record is durable, however long it takes.

        Raises:
            RecordTooLarge: The sink never will take it.
        """
        try:
            await self.sink.publish(key=key, value=value, headers=headers)
        except _SINK_SILENT as error:
            _log.warning("publishing to the %s topic failed, trying again: %s", self.name, error)
        else:
            return
        self._stuck += 1
        self._flows.clear()
        try:
            await self._until_it_succeeds(key, value, headers)
        finally:
            self._stuck -= 1
            if not self._stuck:
                self._flows.set()

    async def _until_it_succeeds(self, key: bytes, value: bytes, headers: Headers) -> None:
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(_SINK_SILENT),
            wait=wait_random_exponential(multiplier=_FIRST_WAIT_S, max=_LONGEST_WAIT_S),
            sleep=self._sleep,
            before_sleep=self._note,
        )
        await self._sleep(_FIRST_WAIT_S)
        await retrying(self.sink.publish, key=key, value=value, headers=headers)

    async def _sleep(self, seconds: float) -> None:
        await self._clock.sleep(int(seconds * 1000))

    def _note(self, state: RetryCallState) -> None:
        error = state.outcome and state.outcome.exception()
        _log.debug("the %s topic still fails (%d): %s", self.name, state.attempt_number, error)


class ResultsTopic:
    """Publishes terminal results, in full or, where the topic refuses that, in short.

    Args:
        publisher: The results topic.
        results: Builds the short form.
    """

    def __init__(self, publisher: Publisher, results: Results) -> None:
        self.publisher = publisher
        self._results = results

    async def publish(self, key: bytes, result: bytes) -> None:
        """Return once the result is durable.

        Raises:
            RecordTooLarge: The topic refuses even the short form, for its key or its names.
        """
        try:
            await self.publisher.publish(key=key, value=result, headers=_RESULT_HEADERS)
        except RecordTooLarge as error:
            stored = ToolResult.FromString(result)
            _log.warning(
                "a result is published without its value: %s",
                error,
                extra=intent_fields(
                    stored.intent_id,
                    stored.entity_key,
                    attempt=stored.attempt,
                    phase=Phase.PUBLISH.value,
                ),
            )
            short = self._results.too_large(result)
            await self.publisher.publish(key=key, value=short, headers=_RESULT_HEADERS)
