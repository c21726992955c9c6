"""`ctx.call_model`: answers of a provider, paid once for each activation."""

from __future__ import annotations

from beam_agents._protos import AgentEnvelope
from beam_agents._protos.state_pb2 import KeyState
from beam_agents.core.activation import ActivationEngine
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.loop import run
from beam_agents.core.testing import AgentHarness
from beam_agents.model.fake import FakeLLM, match_any, raise_error, respond_with
from tests.unit.core.agents import KEY


async def asks(ctx: ActivationContext) -> Complete:
    return Complete(await ctx.call_model(b"hello"))


async def asks_again_on_resume(ctx: ActivationContext) -> Complete | Suspend:
    answer = await ctx.call_model(b"same")
    if ctx.is_resume:
        return Complete(answer)
    ctx.act("pay", {})
    return Suspend(b"", timeout_ms=30_000)


def test_an_agent_is_answered_by_the_provider() -> None:
    config = AgentConfig(provider_factory=lambda: FakeLLM([(match_any(), respond_with("hi"))]))
    harness = AgentHarness(asks, config)

    harness.event(KEY, b"e")

    assert harness.outputs == [b"hi"]


def test_one_provider_serves_all_activations() -> None:
    made: list[FakeLLM] = []

    def factory() -> FakeLLM:
        made.append(FakeLLM([(match_any(), respond_with("hi"))]))
        return made[-1]

    harness = AgentHarness(asks, AgentConfig(provider_factory=factory))
    for key in (b"a", b"b"):
        harness.event(key, b"e")

    (model,) = made
    assert model.requests == [b"hello", b"hello"]


def test_a_retried_activation_does_not_pay_twice() -> None:
    model = FakeLLM([(match_any(), respond_with("hi"))])
    envelope = AgentEnvelope(entity_key=KEY, external_event=b"e")
    for _ in range(2):  # as a runner does: the engine made anew, the state restored
        engine = ActivationEngine(
            asks, AgentConfig(provider_factory=lambda: model), token="a-retried-step"
        )
        run(engine.on_envelope(KEY, KeyState(), envelope))

    assert model.requests == [b"hello"]


def test_a_resume_that_asks_the_same_is_a_call_of_its_own() -> None:
    model = FakeLLM([(match_any(), respond_with("hi"))])
    harness = AgentHarness(asks_again_on_resume, AgentConfig(provider_factory=lambda: model))
    harness.event(KEY, b"e")

    harness.result(harness.intents[0])

    assert model.requests == [b"same", b"same"]


def test_a_failed_call_is_not_remembered() -> None:
    rules = [(match_any(), raise_error(ConnectionError("down")))]
    model = FakeLLM(rules)
    engine = ActivationEngine(asks, AgentConfig(provider_factory=lambda: model), token="a-failure")
    for _ in range(2):
        run(engine.on_envelope(KEY, KeyState(), AgentEnvelope(entity_key=KEY, external_event=b"e")))

    assert len(model.requests) == 2


def test_a_missing_provider_names_the_setting() -> None:
    harness = AgentHarness(asks)

    harness.event(KEY, b"e")

    assert "provider_factory" in harness.errors[0].detail


async def asks_in_text(ctx: ActivationContext) -> Complete:
    return Complete(await ctx.call_model("hello"))  # type: ignore[arg-type]


def test_a_request_must_be_bytes() -> None:
    config = AgentConfig(provider_factory=lambda: FakeLLM([]))
    harness = AgentHarness(asks_in_text, config)

    harness.event(KEY, b"e")

    assert "must be bytes, not str" in harness.errors[0].detail
