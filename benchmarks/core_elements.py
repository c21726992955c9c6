"""How many times Beam's own cost does an element through the engine cost?"""

from __future__ import annotations

from collections.abc import Iterator

from core_pipeline import NOW_MS, Source, engine, events, floor, pipeline, prepare
from paired import Pair, run

from beam_agents._protos import AgentEnvelope, ToolResult
from beam_agents.core.agent import Complete, Suspend, intent_id_for
from beam_agents.core.context import ActivationContext
from beam_agents.core.keyed import Keyed

ELEMENTS = 20_000
FEWER = 4_000  # where each has a state cell of its own


async def answer(ctx: ActivationContext) -> Complete:
    return Complete(ctx.event)


async def refund(ctx: ActivationContext) -> Complete | Suspend:
    if ctx.is_resume:
        return Complete(ctx.snapshot)
    ctx.act("refund", {"order": 7, "cents": 1999})
    return Suspend(b"refunding", timeout_ms=60_000)


def suspensions(count: int, per_key: int) -> Source:
    """Half events, half the results that resume what they began, in turn."""

    def source() -> Iterator[Keyed]:
        for index, (key, event) in enumerate(events(count, per_key)()):
            seq = index % per_key // 2
            if index % 2:
                # Made here: a list of ids is pickled into the pipeline, which slows the floor down.
                result = ToolResult(
                    intent_id=intent_id_for(key, seq, 0), seq=seq, status=ToolResult.OK
                )
                event = AgentEnvelope(
                    entity_key=key, event_time_ms=NOW_MS + index, tool_result=result
                )
            yield key, event

    return source


def pair(name: str, source: Source, agent: object, count: int, limit: float) -> Pair:
    return Pair(
        name, pipeline(source, engine(agent)), pipeline(source, floor), limit, per_call=count
    )


if __name__ == "__main__":
    prepare()
    run(
        "An element through RunAgent: CPU time on FnApiRunner",
        "Beam alone",
        [
            pair("one hot key", events(ELEMENTS, ELEMENTS), answer, ELEMENTS, 2.3),
            pair("20 elements a key", events(ELEMENTS, 20), answer, ELEMENTS, 2.8),
            pair("one element a key", events(FEWER, 1), answer, FEWER, 1.7),
            pair("suspend and resume, 20 a key", suspensions(ELEMENTS, 20), refund, ELEMENTS, 3.0),
            pair("suspend and resume, 2 a key", suspensions(FEWER, 2), refund, FEWER, 3.0),
        ],
    )
