"""A chat agent that remembers: what was said before is in the key's memory.

The key is the conversation. Each message is an activation of its own, which reads
`ctx.memory` and replaces it when it completes. A failed activation changes nothing, so
the memory never holds half an exchange.

Run it:  python docs/examples/chat_agent.py
"""

from __future__ import annotations

import json

from beam_agents import ActivationContext, AgentConfig, Complete
from beam_agents.core.testing import AgentHarness
from beam_agents.model.fake import FakeLLM, match_any, match_contains, raise_error, respond_with

KEPT_MESSAGES = 20


# region: agent
async def chat(ctx: ActivationContext) -> Complete:
    """Answer a message with all that was said before in mind."""
    history = json.loads(ctx.memory or b"[]")
    history.append({"person": ctx.event.decode()})
    answer = await ctx.call_model(json.dumps(history).encode())
    history.append({"agent": answer.decode()})
    return Complete(answer, memory=json.dumps(history[-KEPT_MESSAGES:]).encode())


# endregion: agent


def scripted_model() -> FakeLLM:
    return FakeLLM(
        [
            (match_contains("boom"), raise_error(ConnectionError("the model is down"))),
            (match_contains('I am Ada."}, {"agent"'), respond_with("You are Ada.")),
            (match_contains("I am Ada"), respond_with("Hello Ada.")),
            (match_any(), respond_with("I do not know you.")),
        ]
    )


def main() -> None:
    harness = AgentHarness(chat, AgentConfig(provider_factory=scripted_model))

    harness.event(b"chat-1", b"I am Ada.", at_ms=1_000)
    harness.event(b"chat-1", b"boom", at_ms=2_000)
    harness.event(b"chat-1", b"Who am I?", at_ms=3_000)
    harness.event(b"chat-2", b"Who am I?", at_ms=4_000)

    assert harness.outputs == [b"Hello Ada.", b"You are Ada.", b"I do not know you."]
    assert [error.reason for error in harness.errors] == ["agent_failed"]
    assert len(json.loads(harness.state(b"chat-1").memory)) == 4
    print("chat_agent: ok")


if __name__ == "__main__":
    main()
