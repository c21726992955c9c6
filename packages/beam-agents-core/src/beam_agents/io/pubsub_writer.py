"""`pubsub://`: records into a topic, in the order of their keys, which Beam's own writer drops."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from google.api_core.exceptions import GoogleAPICallError
from google.auth.exceptions import GoogleAuthError
from google.cloud.pubsub_v1 import PublisherClient
from google.cloud.pubsub_v1.publisher.exceptions import MessageTooLargeError
from google.cloud.pubsub_v1.types import PublisherOptions

from beam_agents.io.address import TopicAddress
from beam_agents.io.errors import TopicUnavailable
from beam_agents.io.records import OutboundRecord
from beam_agents.pubsub import MessageParts, to_parts

_ANSWER_TIMEOUT_S = 10.0
# How long a bundle waits for the service, before it fails and is tried again.
_PATIENCE_S = 60.0


class PubsubWriter:
    """Appends to one topic; the ordering key is the record's key in hex.

    Args:
        address: The topic; must exist.

    Raises:
        TopicUnavailable: The topic is not there, or nobody lets us write it.
    """

    def __init__(self, address: TopicAddress) -> None:
        [project] = address.uri.hosts
        self._address = address
        self._path = f"projects/{project}/topics/{address.uri.topic}"
        try:
            self._client = PublisherClient(
                publisher_options=PublisherOptions(enable_message_ordering=True)
            )
            self._client.get_topic(topic=self._path, retry=None, timeout=_ANSWER_TIMEOUT_S)
        except (GoogleAPICallError, GoogleAuthError) as error:
            raise self._unavailable(error) from error
        atexit.register(self._client.stop)

    def write(self, records: Sequence[OutboundRecord]) -> None:
        """Return once all are durable, in order within a key.

        Raises:
            TopicUnavailable: Some may not be: write all of them again.
        """
        messages = [to_parts(each.key, each.value, each.headers) for each in records]
        if failures := self._failures(messages):
            # The client holds back a key of which a message failed, lest others overtake it.
            for key in {message.ordering_key for message in messages}:
                with suppress(RuntimeError):  # this one is not held back
                    self._client.resume_publish(self._path, key)
            raise self._unavailable(failures[0]) from failures[0]

    def _failures(self, messages: Sequence[MessageParts]) -> list[BaseException]:
        """Publish all, and wait for all: what is held back is known only then."""
        futures: list[Any] = []
        failures: list[BaseException] = []
        try:
            for message in messages:
                futures.append(self._publish(message))  # noqa: PERF401 - those before a failure count
        except MessageTooLargeError as error:
            failures.append(error)
        failures += [failed for each in futures if (failed := each.exception()) is not None]
        return failures

    def _publish(self, message: MessageParts) -> Any:
        return self._client.publish(
            self._path,
            message.data,
            ordering_key=message.ordering_key,
            timeout=_PATIENCE_S,
            **message.attributes,
        )

    def _unavailable(self, error: BaseException) -> TopicUnavailable:
        return TopicUnavailable(f"cannot write {str(self._address)!r}: {error}")
