"""An agent that reasons and acts: a model decides, read-only tools run here, effects elsewhere.

Each turn asks the model what to do next. `look_up_order` has no side effect and is
run at once; `payments.refund` has one: the agent stages an intent, keeps the whole
conversation in its snapshot, and goes on when the answer is there. After `MAX_TURNS`
turns it gives up, so that no model can keep it busy for ever.

Run it:  python docs/examples/react_agent.py
"""

from __future__ import annotations

import json

from beam_agents import ActivationContext, AgentConfig, Complete, EffectError, Suspend
from beam_agents.core.testing import AgentHarness
from beam_agents.model.fake import FakeLLM, match_any, match_contains, respond_with
from beam_agents.tools import ToolRegistry, tool

MAX_TURNS = 6


@tool
def look_up_order(order: str) -> dict[str, object]:
    """Read an order."""
    return {"order": order, "charge": "ch_17", "amount_cents": 4200}


@tool(name="payments.refund", side_effect=True)
async def refund(charge: str, amount_cents: int) -> str:
    """Give a charge back to the customer."""
    return f"gave back {amount_cents} of {charge}"


TOOLS = ToolRegistry(look_up_order, refund)


# region: agent
async def support(ctx: ActivationContext) -> Complete | Suspend:
    """Do what the model says, turn by turn, until it answers."""
    if ctx.is_resume:
        conversation = json.loads(ctx.snapshot)
        conversation.append({"observed": observation(ctx)})
    else:
        conversation = [{"customer": ctx.event.decode()}]
    while len(conversation) < 2 * MAX_TURNS:
        decision = json.loads(await ctx.call_model(json.dumps(conversation).encode()))
        conversation.append(decision)
        if "answer" in decision:
            return Complete(decision["answer"].encode())
        if not TOOLS[decision["tool"]].side_effect:
            observed = await ctx.call_tool(decision["tool"], decision["args"])
            conversation.append({"observed": observed})
            continue
        ctx.act(decision["tool"], decision["args"])
        # Nothing has happened yet: the intent leaves when this function returns.
        return Suspend(json.dumps(conversation).encode(), timeout_ms=600_000, version=1)
    return Complete(b"A colleague will look at this.")


def observation(ctx: ActivationContext) -> object:
    """What the model is told of an effect: its value, or what is known of its failure."""
    try:
        return ctx.value()
    except EffectError as failure:
        return {"failed": str(failure)}


# endregion: agent


def scripted_model() -> FakeLLM:
    """Play the model: the last thing that the conversation holds decides."""
    act = {"tool": "payments.refund", "args": {"charge": "ch_17", "amount_cents": 4200}}
    look = {"tool": "look_up_order", "args": {"order": "17"}}
    return FakeLLM(
        [
            (match_contains("again and again"), respond_with(json.dumps(look))),
            (match_contains("re_1"), respond_with('{"answer": "You have your money back."}')),
            (match_contains('"failed"'), respond_with('{"answer": "The refund failed."}')),
            (match_contains("ch_17"), respond_with(json.dumps(act))),
            (match_any(), respond_with(json.dumps(look))),
        ]
    )


def main() -> None:
    config = AgentConfig(provider_factory=scripted_model, tools=TOOLS)
    harness = AgentHarness(support, config)

    harness.event(b"customer-1", b"Order 17 never came.", at_ms=1_000)
    (intent,) = harness.intents
    assert intent.tool_name == "payments.refund"
    assert harness.outputs == []
    harness.result(intent, b'"re_1"', at_ms=2_000)
    assert harness.outputs == [b"You have your money back."]

    harness.event(b"customer-2", b"Ask again and again.", at_ms=1_000)
    assert harness.outputs[-1] == b"A colleague will look at this."
    assert harness.errors == []
    print("react_agent: ok")


if __name__ == "__main__":
    main()
