"""What does a suspended key keep? Bytes of state, and memory where a runner holds them."""

from __future__ import annotations

import argparse
import json
import tracemalloc
from pathlib import Path

from beam_agents._protos import AgentEnvelope
from beam_agents.core import loop
from beam_agents.core.activation import ActivationEngine
from beam_agents.core.agent import Suspend
from beam_agents.core.bundle import KeySession, run_together
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.slots import Slots

KEYS = 100_000
BUNDLE = 1_000
NOW_MS = 1_700_000_000_000
SNAPSHOT = b"x" * 200
MOST_STATE_BYTES = 160


async def wait(ctx: ActivationContext) -> Suspend:
    ctx.act("refund", {"order": 7, "cents": 1999})
    return Suspend(SNAPSHOT, timeout_ms=60_000)


def one_cell() -> int:
    """Return the bytes of a key's state that are not its snapshot."""
    session = _suspending(b"key-000000")
    loop.run(run_together(ActivationEngine(wait, AgentConfig()), [session], Slots(1)))
    return len(session.changed_cell() or b"") - len(SNAPSHOT)


def resident_per_key() -> float:
    """Return the memory of each of many suspended keys: its cell as kept, its key, a dict slot."""
    engine = ActivationEngine(wait, AgentConfig())
    cells: dict[bytes, bytes | None] = {}
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for first in range(0, KEYS, BUNDLE):
        sessions = [_suspending(b"key-%06d" % index) for index in range(first, first + BUNDLE)]
        loop.run(run_together(engine, sessions, Slots(BUNDLE)))
        cells |= {session.key: session.changed_cell() for session in sessions}
    del sessions
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / len(cells)


def _suspending(key: bytes) -> KeySession[None]:
    session: KeySession[None] = KeySession(key, None)
    event = AgentEnvelope(entity_key=key, event_time_ms=NOW_MS, external_event=b"e")
    session.inbox.append((None, event))
    return session


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    args = parser.parse_args()
    state_bytes, resident = one_cell(), resident_per_key()
    mark = "" if state_bytes <= MOST_STATE_BYTES else " MISSED"
    print(f"state beyond the snapshot, one awaited intent: {state_bytes} bytes{mark}")
    print(f"  at most: {MOST_STATE_BYTES}")
    print(f"memory of each of {KEYS} suspended keys, snapshot of {len(SNAPSHOT)}: {resident:.0f}")
    if args.json:
        figures = {"state_bytes": state_bytes, "resident_bytes_per_key": resident}
        args.json.write_text(json.dumps(figures, indent=2) + "\n")
    raise SystemExit(state_bytes > MOST_STATE_BYTES)


if __name__ == "__main__":
    main()
