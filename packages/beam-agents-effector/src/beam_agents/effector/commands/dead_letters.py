"""Lists the records that could not be handled, and puts them back where they came from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass

from beam_agents.effector.commands.connecting import (
    NOT_THERE,
    answering,
    complain,
    connections,
    given_or_set,
)
from beam_agents.effector.dead_letters import DeadLetter
from beam_agents.effector.ports import Delivery
from beam_agents.effector.printable import printable, printable_key
from beam_agents.effector.schemes import open_browser, open_sink


@dataclass(frozen=True, slots=True)
class Kept:
    """A dead letter, and where it lies, as `partition@offset` of the dead-letter topic."""

    place: str
    letter: DeadLetter
    timestamp_ms: int

    def line(self) -> str:
        """Describe it in a line."""
        letter = self.letter
        size = "no value" if letter.value is None else f"{len(letter.value)} bytes"
        key = "no key" if letter.key is None else f"key {printable_key(letter.key)}"
        came_from = f"{printable(letter.partition)}@{letter.offset}"
        return f"{self.place}  {printable(letter.reason)}  from {came_from}, {key}, {size}"

    def as_json(self) -> str:
        """Describe it as a JSON object, its bytes in hexadecimal."""
        letter = self.letter
        return json.dumps(
            {
                "place": self.place,
                "reason": letter.reason,
                "from": f"{letter.partition}@{letter.offset}",
                "dead_since_ms": self.timestamp_ms,
                "key": None if letter.key is None else letter.key.hex(),
                "value": None if letter.value is None else letter.value.hex(),
                "headers": [[name, value.hex()] for name, value in letter.headers],
            }
        )


def list_letters(dead_letters_to: str | None, *, reason: str | None, as_json: bool) -> int:
    """Print the dead letters, oldest first, of one reason or of all."""

    def command() -> int:
        letters = asyncio.run(_letters(dead_letters_to, _with_reason(reason)))
        for each in letters:
            print(each.as_json() if as_json else each.line())  # noqa: T201
        return complain(f"{len(letters)} dead letters", 0)

    return answering(command)


def redrive(
    dead_letters_to: str | None,
    intents_from: str | None,
    places: Collection[str],
    *,
    everything: bool,
    reason: str | None,
) -> int:
    """Publish dead letters to the intents topic once more, each as it was received.

    An effector judges them anew. Nothing is done twice: what has been performed since is
    recognised by its intent id. The dead letters stay where they are.

    Returns:
        0 once all of them are durable, 3 where one of the places holds no dead letter.
    """

    def command() -> int:
        if bool(places) == everything:
            raise ValueError("name the places to redrive, as `ls` shows them, or say --all")
        chosen = _with_reason(reason) if everything else lambda each: each.place in places
        letters = asyncio.run(_letters(dead_letters_to, chosen))
        unknown = sorted(set(places) - {each.place for each in letters})
        if unknown:
            return complain(f"no dead letter at {', '.join(unknown)}: nothing done", NOT_THERE)
        asyncio.run(_publish(given_or_set("intents_from", intents_from), letters))
        return complain(f"{len(letters)} dead letters put back", 0)

    return answering(command)


def _with_reason(reason: str | None) -> Callable[[Kept], bool]:
    return lambda each: reason in (None, each.letter.reason)


async def _letters(dead_letters_to: str | None, chosen: Callable[[Kept], bool]) -> list[Kept]:
    topic = open_browser(given_or_set("dead_letters_to", dead_letters_to), connections())
    try:
        await topic.open()
        letters = [_kept(record) async for record in topic.records()]
    finally:
        await topic.aclose()
    return [each for each in letters if each is not None and chosen(each)]


def _kept(record: Delivery) -> Kept | None:
    """Read a dead letter; None for a record that carries none."""
    try:
        letter = DeadLetter.read(record.key, record.value, record.headers)
    except (KeyError, ValueError):
        return None
    return Kept(f"{record.partition}@{record.offset}", letter, record.timestamp_ms)


async def _publish(uri: str, letters: Collection[Kept]) -> None:
    sink = open_sink(uri, connections())
    try:
        await sink.open()
        for each in letters:
            letter = each.letter
            await sink.publish(
                key=letter.key or b"", value=letter.value or b"", headers=letter.headers
            )
    finally:
        await sink.aclose()
