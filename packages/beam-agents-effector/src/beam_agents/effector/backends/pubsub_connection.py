"""Reaching Pub/Sub or its emulator, or saying in one line why not."""

from __future__ import annotations

import asyncio
import os

import google.auth
import grpc
from google.api_core.exceptions import (
    FailedPrecondition,
    Forbidden,
    GoogleAPICallError,
    InvalidArgument,
    NotFound,
    Unauthenticated,
)
from google.auth.exceptions import GoogleAuthError
from google.pubsub_v1 import PublisherAsyncClient, SubscriberAsyncClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport
from google.pubsub_v1.types import Subscription

from beam_agents.effector.errors import (
    BackendUnavailable,
    EffectorError,
    OperatorError,
    TopicMissing,
)

# How long one call may take before it counts as not answered.
ANSWER_TIMEOUT_S = 10.0

# What Google's clients raise where they have no answer for us.
SILENT = (GoogleAPICallError, GoogleAuthError, grpc.RpcError, grpc.aio.UsageError)
# Answers that will be the same tomorrow.
FATAL = (NotFound, Forbidden, FailedPrecondition, InvalidArgument)

_SCOPE = "https://www.googleapis.com/auth/pubsub"
_UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
# A connection that a firewall forgot would otherwise be waited for, for a quarter of an hour.
_KEPT_ALIVE = [*_UNLIMITED, ("grpc.keepalive_time_ms", 30_000)]


async def publisher() -> PublisherAsyncClient:
    """Make a client that publishes; connects nothing yet.

    Raises:
        OperatorError: There are no credentials.
    """
    return PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=await _channel()))


async def subscriber() -> SubscriberAsyncClient:
    """Make a client that subscribes; raises as `publisher` does."""
    return SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=await _channel()))


async def readable_subscription(client: SubscriberAsyncClient, path: str) -> Subscription:
    """Look a subscription up that is to be read in the order of each key.

    Raises:
        BackendUnavailable: Pub/Sub does not answer.
        TopicMissing: There is no such subscription.
        OperatorError: It keeps no order, has no topic, or is not for us.
    """
    try:
        found = await client.get_subscription(
            subscription=path, retry=None, timeout=ANSWER_TIMEOUT_S
        )
    except SILENT as error:
        raise closed_to_us("subscription", path, error) from error
    if found.topic == "_deleted-topic_":
        raise OperatorError(f"the topic of the subscription {path!r} was deleted")
    if not found.enable_message_ordering:
        raise OperatorError(
            f"the subscription {path!r} does not keep the order of a key, and cannot be "
            f"changed: create another one with message ordering enabled"
        )
    return found


def closed_to_us(what: str, name: str, error: BaseException) -> EffectorError:
    """Say why a topic or a subscription cannot be used, by who must act."""
    match error:
        case NotFound():
            return TopicMissing(
                f"the Pub/Sub {what} {name!r} does not exist: create it, or mend the URI"
            )
        case Forbidden() | Unauthenticated() | GoogleAuthError():
            return OperatorError(f"Pub/Sub does not let us use the {what} {name!r}: {_of(error)}")
        case FailedPrecondition() | InvalidArgument():
            return EffectorError(f"Pub/Sub refuses the {what} {name!r}: {_of(error)}")
        case _:
            return BackendUnavailable(f"no answer for the Pub/Sub {what} {name!r}: {_of(error)}")


async def _channel() -> grpc.aio.Channel:
    emulator = os.environ.get("PUBSUB_EMULATOR_HOST")
    if emulator:
        return grpc.aio.insecure_channel(emulator, options=_UNLIMITED)
    try:
        # It may ask a server for them, and would hold the loop meanwhile.
        credentials, _ = await asyncio.to_thread(google.auth.default, scopes=[_SCOPE])
    except GoogleAuthError as error:
        raise OperatorError(f"Pub/Sub needs Google credentials: {_of(error)}") from error
    return PublisherGrpcAsyncIOTransport.create_channel(
        credentials=credentials, options=_KEPT_ALIVE
    )


def _of(error: BaseException) -> str:
    return str(getattr(error, "message", "")) or str(error) or repr(error)
