"""Intents that ask a person: passed on to the approvals topic, once, and never executed."""

from __future__ import annotations

from beam_agents._protos import ToolIntent
from beam_agents.effector.attempt import Attempt
from beam_agents.effector.interruptions import ClaimOver
from beam_agents.effector.ports import DedupStore, RecordTooLarge
from beam_agents.effector.publishing import Publisher
from beam_agents.intents.topics import type_header

_HEADERS = (type_header(ToolIntent),)

# The terminal record of a request: there is no result, the answer comes from a person.
PASSED_ON = b""


class Approvals:
    """Passes approval requests on.

    Args:
        publisher: The approvals topic; without it every request is rejected.
        store: Asked whether the claim still holds, just before publishing.
        lease_ms: How long a claim lasts.
    """

    def __init__(self, publisher: Publisher | None, store: DedupStore, *, lease_ms: int) -> None:
        self._publisher = publisher
        self._store = store
        self._lease_ms = lease_ms

    async def request(self, attempt: Attempt) -> bytes:
        """Publish the bytes exactly as received, and return the terminal record.

        A crash between publishing and recording publishes again: surfaces tell
        requests apart by their intent id.

        Raises:
            Withdrawn: Nothing was published; the claim can be handed back.
            DeadlinePassed: Nothing was published: nobody could answer in time.
            ClaimOver: Another worker passes it on.
            ConnectionError: The store did not answer; nothing was published.
        """
        if self._publisher is None:
            return attempt.rejected("this effector has no approvals topic")
        if await self._store.renew([attempt.lease.claim], lease_ms=self._lease_ms):
            raise ClaimOver
        await attempt.require_startable()
        delivery = attempt.work.delivery
        try:
            await self._publisher.publish(
                key=attempt.intent.entity_key, value=delivery.value or b"", headers=_HEADERS
            )
        except RecordTooLarge as error:
            return attempt.rejected(f"the approvals topic refuses the request: {error}")
        return PASSED_ON
