"""One streaming pull: messages as they come, until it is ended in a way that Pub/Sub notices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from google.pubsub_v1 import SubscriberAsyncClient
from google.pubsub_v1.types import StreamingPullRequest, StreamingPullResponse

_HEARTBEAT_S = 30.0
_END_S = 2.0
# Pub/Sub sends no more while so much is not acknowledged.
_MAX_HELD = 5_000
_MAX_HELD_BYTES = 100_000_000


class PubsubStream:
    """Pulls from one subscription.

    Args:
        client: Reaches Pub/Sub.
        subscription: Its full path.
        client_id: The same for every stream of a worker: a new one then goes on with
            the ordering keys of the last.
        lease_s: For how long a message is ours, unless that is extended.
    """

    def __init__(
        self, client: SubscriberAsyncClient, subscription: str, *, client_id: str, lease_s: int
    ) -> None:
        self._client = client
        self._first = StreamingPullRequest(
            subscription=subscription,
            stream_ack_deadline_seconds=lease_s,
            client_id=client_id,
            max_outstanding_messages=_MAX_HELD,
            max_outstanding_bytes=_MAX_HELD_BYTES,
        )
        self._too_late: list[str] = []
        self._ending = asyncio.Event()
        self._ended = asyncio.Event()
        self._cut_off = False
        self._call: Any = None

    async def batches(self) -> AsyncIterator[Any]:
        """Yield the messages as they come, several at once, until Pub/Sub or `end` ends it.

        Raises:
            GoogleAPICallError: Pub/Sub ended it by an error.
        """
        try:
            self._call = await self._client.streaming_pull(
                self._requests(), retry=None, timeout=None
            )
            async for response in self._call:
                # The bare message: its comfortable wrapper costs more than all the rest.
                messages = StreamingPullResponse.pb(response).received_messages
                if self._ending.is_set():
                    self._too_late += [each.ack_id for each in messages]
                else:
                    yield messages
        except asyncio.CancelledError:
            if not self._cut_off:
                raise
        finally:
            self._ended.set()

    async def end(self) -> list[str]:
        """End the stream by our side of it; return the ack ids of messages that came too late.

        Pub/Sub gives the messages of a broken stream to others only when their leases
        are over, and those of an ended one as soon as they are handed back.
        """
        self._ending.set()
        if self._call is not None:
            try:
                await asyncio.wait_for(self._ended.wait(), _END_S)
            except asyncio.TimeoutError:
                self._cut_off = True
                self._call.cancel()
        return self._too_late

    async def _requests(self) -> AsyncIterator[StreamingPullRequest]:
        yield self._first
        while not self._ending.is_set():
            try:
                await asyncio.wait_for(self._ending.wait(), _HEARTBEAT_S)
            except asyncio.TimeoutError:
                yield StreamingPullRequest()  # else an idle stream is taken for a dead one
