"""Records that cannot be handled: kept whole, with the reason, so that a person can judge them."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from beam_agents.effector.ports import Delivery, Headers, RecordTooLarge
from beam_agents.effector.probe import Probe
from beam_agents.effector.publishing import Publisher
from beam_agents.intents.topics import TYPE_HEADER

_log = logging.getLogger(__name__)

_PREFIX = "beam-agents-dead-letter-"
_LOGGED_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that cannot be handled, as it was received.

    Attributes:
        key: Its raw key; None where it had none.
        value: Its raw bytes; None where it had none.
        reason: Why it cannot be handled.
        headers: Its own headers.
        partition: Where it was.
        offset: Its place there.
    """

    key: bytes | None
    value: bytes | None
    reason: str
    headers: Headers
    partition: str
    offset: int

    def as_headers(self) -> Headers:
        """Return the headers of the record that carries this letter.

        The letter's own come first, the record's own follow under a prefix, so that
        nothing reads the record as what it once claimed to be.
        """
        absent = ",".join(name for name in ("key", "value") if getattr(self, name) is None)
        return (
            (TYPE_HEADER, b"DeadLetter"),
            (_PREFIX + "reason", self.reason.encode()),
            (_PREFIX + "partition", self.partition.encode()),
            (_PREFIX + "offset", str(self.offset).encode()),
            (_PREFIX + "absent", absent.encode()),
            *((f"{_PREFIX}header-{name}", value) for name, value in self.headers),
        )

    @classmethod
    def read(cls, key: bytes | None, value: bytes | None, headers: Headers) -> DeadLetter:
        """Read a letter back from the record that carries it.

        Raises:
            KeyError: The record carries no dead letter.
        """
        ours = {name.removeprefix(_PREFIX): data for name, data in headers}
        absent = ours["absent"].decode()
        return cls(
            key=None if "key" in absent else key,
            value=None if "value" in absent else value,
            reason=ours["reason"].decode(),
            headers=tuple(
                (name.removeprefix(_PREFIX + "header-"), data)
                for name, data in headers
                if name.startswith(_PREFIX + "header-")
            ),
            partition=ours["partition"].decode(),
            offset=int(ours["offset"]),
        )


class DeadLetters:
    """Puts records aside.

    Args:
        publisher: The dead-letter topic; without it records are logged whole, up to a bound.
        probe: Counts them.
    """

    def __init__(self, publisher: Publisher | None, probe: Probe) -> None:
        self._publisher = publisher
        self._probe = probe

    async def bury(self, delivery: Delivery, reason: str) -> None:
        """Return once the record is kept."""
        self._probe.count(f"dead_letter.{reason}")
        letter = DeadLetter(
            delivery.key,
            delivery.value,
            reason,
            delivery.headers,
            delivery.partition,
            delivery.offset,
        )
        if self._publisher is None:
            _log_whole(letter, "no dead-letter topic is configured")
            return
        try:
            await self._publisher.publish(
                key=delivery.key or b"", value=delivery.value or b"", headers=letter.as_headers()
            )
        except RecordTooLarge as error:
            _log_whole(letter, str(error))


def _log_whole(letter: DeadLetter, why: str) -> None:
    _log.error(
        "dead letter (%s) from %s offset %d, logged because %s: key %s value %s headers %s",
        letter.reason,
        letter.partition,
        letter.offset,
        why,
        _shown(letter.key),
        _shown(letter.value),
        _shown(repr(letter.headers).encode()),
    )


def _shown(data: bytes | None) -> str:
    if data is None:
        return "null"
    text = repr(data[:_LOGGED_BYTES])
    return text if len(data) <= _LOGGED_BYTES else f"{text} … of {len(data)} bytes"
