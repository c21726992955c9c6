"""What does the engine add to a model call of 50 ms?

Bundles of one event and of a hundred keys, each timed from its submission to its
last emission; the floor is the sleep alone, on the same loop, in turn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path
from statistics import median, quantiles

from beam_agents._protos import AgentEnvelope
from beam_agents.core import loop
from beam_agents.core.activation import ActivationEngine
from beam_agents.core.agent import Complete
from beam_agents.core.bundle import KeySession, run_together
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.slots import Slots

CALL_S = 0.050
ROUNDS = 100
AIM_MS = {"p50": 1.5, "p99": 5.0}


class Model:
    async def complete(self, request: bytes) -> bytes:
        await asyncio.sleep(CALL_S)
        return request


async def ask(ctx: ActivationContext) -> Complete:
    return Complete(await ctx.call_model(ctx.event))


def through_engine(engine: ActivationEngine, keys: int, round_: int) -> float:
    sessions: list[KeySession[None]] = []
    for index in range(keys):
        key = b"key-%d-%d" % (round_, index)
        session: KeySession[None] = KeySession(key, None)
        session.inbox.append((None, AgentEnvelope(entity_key=key, external_event=b"question")))
        sessions.append(session)
    began = time.perf_counter()
    loop.run(run_together(engine, sessions, Slots(keys)))
    for session in sessions:
        session.take()
        session.changed_cell()
    return (time.perf_counter() - began) * 1_000


async def calls(keys: int) -> None:
    await asyncio.gather(*(asyncio.sleep(CALL_S) for _ in range(keys)))


def alone(keys: int) -> float:
    began = time.perf_counter()
    loop.run(calls(keys))
    return (time.perf_counter() - began) * 1_000


def added(keys: int) -> dict[str, float]:
    """Return what the engine adds, in milliseconds: at the median, and at the 99th of 100."""
    engine = ActivationEngine(ask, AgentConfig(provider_factory=Model), token=f"latency-{keys}")
    through_engine(engine, keys, -1)  # the first makes the loop and the client
    rounds = [(through_engine(engine, keys, round_), alone(keys)) for round_ in range(ROUNDS)]
    ours, floor = (list(times) for times in zip(*rounds, strict=True))
    p99 = quantiles(ours, n=100)[98] - quantiles(floor, n=100)[98]
    return {"p50": median(ours) - median(floor), "p99": p99}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    args = parser.parse_args()
    figures = {f"{keys} keys": added(keys) for keys in (1, 100)}
    for name, each in figures.items():
        for percentile, ms in each.items():
            print(f"{name}, added {percentile}: {ms:.2f} ms (aim {AIM_MS[percentile]})")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
