"""`pubsub://project/topic`: records into a topic, in the order of their keys."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from google.api_core.exceptions import InvalidArgument
from google.pubsub_v1 import PublisherAsyncClient
from google.pubsub_v1.types import PubsubMessage

from beam_agents.effector.backends.pubsub_connection import (
    ANSWER_TIMEOUT_S,
    SILENT,
    closed_to_us,
    publisher,
)
from beam_agents.effector.backends.pubsub_messages import (
    MAX_MESSAGE_BYTES,
    MAX_ORDERING_KEY_BYTES,
    to_message,
)
from beam_agents.effector.ports import Headers, RecordTooLarge, SinkUnavailable

# https://cloud.google.com/pubsub/quotas#resource_limits
_MESSAGES_A_REQUEST = 1_000
_BYTES_A_REQUEST = MAX_MESSAGE_BYTES


@dataclass(frozen=True, slots=True)
class _Unsent:
    """A message whose publisher waits."""

    message: PubsubMessage
    size: int
    taken: asyncio.Future[None]


class PubsubSink:
    """Publishes to one topic; the messages of a key go out one request after the other.

    Args:
        project: The Google Cloud project.
        topic: The topic; must exist.
    """

    def __init__(self, project: str, topic: str) -> None:
        self._path = f"projects/{project}/topics/{topic}"
        self._client: PublisherAsyncClient | None = None
        self._unsent: dict[str, deque[_Unsent]] = {}
        self._sending: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Connect, and check that the topic is there.

        Raises:
            BackendUnavailable: Pub/Sub does not answer.
            TopicMissing: There is no such topic.
            OperatorError: It is not for us.
        """
        self._client = await publisher()
        try:
            await self.check()
        except BaseException:
            await self.aclose()
            raise

    async def publish(self, *, key: bytes, value: bytes, headers: Headers = ()) -> None:
        """Return once the record is durable.

        Raises:
            SinkUnavailable: It may or may not have been taken; publish it again.
            RecordTooLarge: It never will be.
        """
        self._opened()
        message = to_message(key, value, headers)
        ordering_key = message.ordering_key
        size = PubsubMessage.pb(message).ByteSize()
        if size > MAX_MESSAGE_BYTES or len(ordering_key) > MAX_ORDERING_KEY_BYTES:
            raise RecordTooLarge(size)
        unsent = _Unsent(message, size, asyncio.get_running_loop().create_future())
        if ordering_key in self._unsent:
            self._unsent[ordering_key].append(unsent)
        else:
            self._unsent[ordering_key] = deque([unsent])
            task = asyncio.ensure_future(self._send(ordering_key))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        await unsent.taken

    async def check(self) -> None:
        """Raise what keeps the topic from taking records, if anything does."""
        try:
            await self._opened().get_topic(topic=self._path, retry=None, timeout=ANSWER_TIMEOUT_S)
        except SILENT as error:
            raise closed_to_us("topic", self._path, error) from error

    async def aclose(self) -> None:
        """Send what was published, and disconnect."""
        if self._sending:
            await asyncio.wait(self._sending)
        client, self._client = self._client, None
        if client is not None:
            await client.transport.close()

    async def _send(self, ordering_key: str) -> None:
        """Send all messages of a key, those that come meanwhile included."""
        unsent = self._unsent[ordering_key]
        while unsent:
            batch = _next_batch(unsent)
            refusal = await self._refusal(batch)
            if refusal is not None:
                # Of the key, none overtakes the one that failed: all of them fail, and with
                # the next one that is published the key begins anew.
                batch += unsent
                unsent.clear()
            for each in batch:
                if each.taken.done():  # its publisher was cancelled
                    continue
                if refusal is None:
                    each.taken.set_result(None)
                else:
                    each.taken.set_exception(refusal)
        del self._unsent[ordering_key]

    async def _refusal(self, batch: Sequence[_Unsent]) -> Exception | None:
        """Send one request; return why it was not taken, if it was not."""
        try:
            await self._opened().publish(
                topic=self._path,
                messages=[each.message for each in batch],
                retry=None,  # whether it is repeated is for our publisher to say
                timeout=ANSWER_TIMEOUT_S,
            )
        except InvalidArgument as error:
            if len(batch) == 1:
                return RecordTooLarge(batch[0].size, f"{self._path!r} refuses it: {error.message}")
            return SinkUnavailable(f"{self._path!r} refuses one of several records: {error}")
        except SILENT as error:
            return SinkUnavailable(f"{self._path!r} did not take the record: {error}")
        return None

    def _opened(self) -> PublisherAsyncClient:
        if self._client is None:
            raise SinkUnavailable(f"the topic {self._path!r} is not open")
        return self._client


def _next_batch(unsent: deque[_Unsent]) -> list[_Unsent]:
    """Take as many messages as fit into one request, and at least one."""
    batch = [unsent.popleft()]
    size = batch[0].size
    while unsent and len(batch) < _MESSAGES_A_REQUEST:
        size += unsent[0].size
        if size > _BYTES_A_REQUEST:
            break
        batch.append(unsent.popleft())
    return batch
