"""The embedded bus: topics, consumer groups and offsets in one file on disk."""

from beam_agents.embedded.bus import DEFAULT_LEASE_MS, EmbeddedBus
from beam_agents.embedded.consumer import BusConsumer
from beam_agents.embedded.errors import (
    BusError,
    BusReplaced,
    BusUnavailable,
    BusVersionError,
    ConsumerFenced,
)
from beam_agents.embedded.record import Headers, NewRecord, Record

__all__ = [
    "DEFAULT_LEASE_MS",
    "BusConsumer",
    "BusError",
    "BusReplaced",
    "BusUnavailable",
    "BusVersionError",
    "ConsumerFenced",
    "EmbeddedBus",
    "Headers",
    "NewRecord",
    "Record",
]
