"""Feeds arguments and wire messages that nobody would write, for a time.

Whatever the bytes, reading them ends in a value or in the error that is declared
for it. Run it by `make fuzz`; it exits 1 with the smallest bytes that break this.
"""

from __future__ import annotations

import argparse
import enum
import json
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from google.protobuf.message import DecodeError, Message
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents.intents import Keyring, Signer, build_intent, verify
from beam_agents.intents.fingerprint import fingerprint
from beam_agents.intents.signing import Forged, UnknownKey, Unsigned, Verified
from beam_agents.tools import IntentInfo, ToolArgumentsError, tool
from beam_agents.tools.canonical_json import canonical_json, parse_json

EXAMPLES_A_ROUND = 500


# --- arguments -------------------------------------------------------------------------------


class Color(enum.Enum):
    RED = "red"
    ONE = 1


@dataclass
class Tree:
    name: str
    children: list[Tree]
    weight: float | None = None


@tool
def everything(
    tree: Tree,
    numbers: dict[str, int | float],
    when: date | datetime,
    price: Decimal,
    key: UUID,
    color: Color,
    kind: Literal["a", 1, None],
    unique: set[int],
    anything: Any = None,
) -> None: ...


ARGUMENTS = json.dumps(
    {
        "tree": {"name": "root", "children": [{"name": "\u00e9", "children": []}], "weight": 1.5},
        "numbers": {"big": 10**30, "small": 1e-9, "whole": 5.0},
        "when": "2025-03-01T00:00:00Z",
        "price": "12.50",
        "key": str(UUID(int=1)),
        "color": "red",
        "kind": 1,
        "unique": [1, 2],
        "anything": [None, True, {"": "\ud83d\ude00"}],
    }
).encode()
STRUCTURE = [b"{", b"}", b"[", b"]", b'"', b":", b",", b" ", b"\\u", b"\\ud800", b"\xff", b"\x00"]
VALUES = [b"null", b"true", b"NaN", b"-", b"5.0", b"1e21", b"1e400", b"1" * 400, b"1" * 5000]
PIECES = st.sampled_from([*STRUCTURE, *VALUES, b"[" * 300, b'"tree":', b'"weight":'])


def read_arguments(text: bytes) -> None:
    try:
        everything.invoke(everything.parse_arguments(text))
    except ToolArgumentsError as error:
        str(error).encode()  # can be sent and logged, whatever was in the text
        return
    canonical = canonical_json(parse_json(text))
    assert canonical_json(parse_json(canonical)) == canonical
    everything.parse_arguments(canonical)


# --- the wire --------------------------------------------------------------------------------

KEYS = Keyring.parse(f"k={b64encode(bytes(32)).decode()}")
SIGNER = Signer(KEYS, "k")
INTENT = build_intent("everything", ARGUMENTS.decode(), entity_key=b"\x00key", created_at_ms=1)
RESULT = ToolResult(intent_id=INTENT.intent_id, entity_key=b"k", payload=b"1", attempt=2)
ENVELOPE = AgentEnvelope(entity_key=b"k", approval={"approved": True, "args_digest": b"\1" * 32})
for _signed in (INTENT, RESULT, ENVELOPE.approval):
    SIGNER.sign(_signed)
WIRE = [message.SerializeToString() for message in (INTENT, RESULT, ENVELOPE)]


def read_wire(data: bytes) -> None:
    for kind in (ToolIntent, ToolResult, AgentEnvelope):
        try:
            message = kind.FromString(data)
        except DecodeError:
            continue
        read_message(message)


def read_message(message: Message) -> None:
    if isinstance(message, ToolIntent):
        assert len(fingerprint(message)) == 32
        assert IntentInfo.of(message).entity_key == message.entity_key
    if isinstance(message, AgentEnvelope):
        message = message.approval
    if isinstance(message, ToolIntent | ToolResult | AgentEnvelope.Approval):
        assert isinstance(verify(message, KEYS), Verified | Unsigned | UnknownKey | Forged)
        SIGNER.sign(message)
        assert verify(message, KEYS) == Verified("k")


# --- mutation --------------------------------------------------------------------------------


@st.composite
def mutated(draw: st.DrawFn, originals: list[bytes], pieces: st.SearchStrategy[bytes]) -> bytes:
    """Cut, repeat and overwrite parts of what is well formed."""
    data = draw(st.sampled_from(originals))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        stop = draw(st.integers(start, min(start + 8, len(data))))
        middle = draw(pieces | st.binary(max_size=4) | st.just(data[start:stop] * 2))
        data = data[:start] + middle + data[stop:]
    return data


def fuzz(
    name: str, read: Callable[[bytes], None], data: st.SearchStrategy[bytes], for_s: float
) -> None:
    """Run rounds of examples, each round from a seed of its own, until the time is over."""
    count = 0

    @settings(
        max_examples=EXAMPLES_A_ROUND,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(data)
    def round_of(text: bytes) -> None:
        nonlocal count
        count += 1
        read(text)

    end, number = time.monotonic() + for_s, 0
    while time.monotonic() < end:
        number += 1
        seed(number)(round_of)()
    print(f"{name}: {count} examples in {number} rounds, no exception but the declared ones")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each of the two")
    seconds = parser.parse_args().seconds
    everything.parse_arguments(ARGUMENTS)  # what is mutated is well formed
    fuzz("arguments", read_arguments, mutated([ARGUMENTS], PIECES) | st.binary(), seconds)
    fuzz("wire", read_wire, mutated(WIRE, st.sampled_from(WIRE)) | st.binary(), seconds)


if __name__ == "__main__":
    main()
