"""The engine under arbitrary histories: whatever comes in whatever order, these rules hold."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents._protos.state_pb2 import KeyState
from beam_agents.core.agent import Complete, Suspend, intent_id_for
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.metrics import Metric
from beam_agents.core.testing import AgentHarness
from beam_agents.intents.fingerprint import fingerprint

KEYS = (b"a", b"b")
NAMESPACE = "model"
TIMEOUT_MS = 1_000
FAILED_RUNS = ("agent_failed", "resume_failed", "invalid_return", "state_too_large")
OTHER = b"\x01" * 32
EVENTS = ("complete", "one", "two", "any", "rounds", "fire", "approve", "raise", "fail_resume")
CONFIG = AgentConfig(
    namespace=NAMESPACE,
    ttl_ms=20_000,
    hold_ms=5_000,
    parked_ms=3_000,
    max_queued_events=3,
    max_parked_answers=3,
    remembered_event_ids=4,
    max_state_bytes=400,
)


async def scripted(ctx: ActivationContext) -> Complete | Suspend:
    """Does what its event says: pure, as an agent should be."""
    script = (ctx.snapshot if ctx.is_resume else ctx.event).decode().split(":")[0]
    if ctx.is_resume:
        assert_is_its_own(ctx)
        if script == "fail_resume":
            raise ValueError("cannot go on")
        if script == "rounds" and ctx.snapshot.count(b":") < 2:
            ctx.act("pay", {"round": 2})
            return Suspend(ctx.snapshot + b":", timeout_ms=TIMEOUT_MS)
        return Complete(b"%d" % ctx.seq, memory=ctx.memory[-16:] + b"m")
    match script:
        case "raise":
            ctx.act("pay", {"lost": True})
            raise ValueError("as told")
        case "complete":
            return Complete(b"%d" % ctx.seq)
        case "fire":
            ctx.act("log", {})
            return Complete(b"%d" % ctx.seq)
        case "approve":
            ctx.request_approval("pay", {"amount": 1})
        case "two" | "any":
            ctx.act("pay", {"n": 1})
            ctx.act("pay", {"n": 2})
        case _:
            ctx.act("pay", {"event": script})
    wait_for = "any" if script == "any" else "all"
    return Suspend(ctx.event, timeout_ms=TIMEOUT_MS, wait_for=wait_for)  # type: ignore[arg-type]


def assert_is_its_own(ctx: ActivationContext) -> None:
    """What resumes is of this activation, and answers what it asked for."""
    own = {intent_id_for(ctx.entity_key, ctx.seq, step, namespace=NAMESPACE) for step in range(4)}
    assert own.issuperset(ctx.results)
    assert own.issuperset(ctx.approvals)
    for result in ctx.results.values():
        assert result.fingerprint != OTHER
        assert result.entity_key == ctx.entity_key
    assert all(each.args_digest != OTHER for each in ctx.approvals.values())


def result_of(intent: ToolIntent, status: ToolResult.Status) -> ToolResult:
    return ToolResult(
        intent_id=intent.intent_id,
        entity_key=intent.entity_key,
        seq=intent.seq,
        step_index=intent.step_index,
        status=status,
        payload=b"null",
        fingerprint=fingerprint(intent),
        namespace=NAMESPACE,
    )


def bytes_beside_bookkeeping(state: KeyState) -> int:
    """The size of what grows with envelopes and agents; the rest is bounded by number."""
    counted = KeyState()
    counted.CopyFrom(state)
    for name in ("answer_digests", "event_digests", "timed_out", "active_ms", "armed_ms"):
        counted.ClearField(name)
    for name in ("completed_by", "timed_out", "held", "hold_ends_ms"):
        if counted.HasField("continuation"):
            counted.continuation.ClearField(name)
    return counted.ByteSize()


def emitted(harness: AgentHarness) -> list[bytes]:
    """All that left, each kind in its order."""
    messages = [*harness.intents, *harness.errors, *harness.completions]
    return [*harness.outputs, *(each.SerializeToString() for each in messages)]


class Engine(RuleBasedStateMachine):
    """One engine, its history, and what every history must leave true."""

    intents = Bundle("intents")

    @initialize()
    def start(self) -> None:
        self.harness = AgentHarness(scripted, CONFIG)
        self.history: list[AgentEnvelope | int] = []

    # --- what may happen ---------------------------------------------------------------------

    @rule(
        target=intents,
        key=st.sampled_from(KEYS),
        script=st.sampled_from(EVENTS),
        event_id=st.sampled_from(["", "", "e1", "e2"]),
        late_ms=st.integers(0, 2_000),
    )
    def event(self, key: bytes, script: str, event_id: str, late_ms: int) -> object:
        at_ms = max(0, self.harness.now_ms - late_ms)
        envelope = AgentEnvelope(
            entity_key=key,
            event_time_ms=at_ms,
            received_at_ms=self.harness.now_ms,
            external_event=script.encode(),
            event_id=event_id,
        )
        return multiple(*self._send(envelope))

    @rule(
        target=intents,
        intent=intents,
        status=st.sampled_from([ToolResult.OK, ToolResult.ERROR, ToolResult.EXPIRED]),
        fault=st.sampled_from(["", "", "", "fingerprint", "key", "seq", "id", "namespace"]),
        late_ms=st.integers(0, 1_500),
    )
    def result(
        self, intent: ToolIntent, status: ToolResult.Status, fault: str, late_ms: int
    ) -> object:
        result = result_of(intent, status)
        match fault:
            case "fingerprint":
                result.fingerprint = OTHER
            case "key":
                result.entity_key = b"elsewhere"
            case "seq":
                result.seq += 1
            case "id":
                result.intent_id = "00000000-0000-0000-0000-000000000000"
            case "namespace":
                result.namespace = "another"
        return multiple(*self._answer(intent, result, late_ms))

    @rule(
        target=intents,
        key=st.sampled_from(KEYS),
        ahead=st.integers(0, 2),
        step=st.integers(0, 2),
    )
    def early_result(self, key: bytes, ahead: int, step: int) -> object:
        seq = self.harness.state(key).next_seq + ahead
        intent_id = intent_id_for(key, seq, step, namespace=NAMESPACE)
        intent = ToolIntent(intent_id=intent_id, entity_key=key, seq=seq, step_index=step)
        result = result_of(intent, ToolResult.OK)
        result.ClearField("fingerprint")
        return multiple(*self._answer(intent, result, 0))

    @rule(target=intents, intent=intents, approved=st.booleans(), other=st.booleans())
    def decision(self, intent: ToolIntent, approved: bool, other: bool) -> object:
        approval = AgentEnvelope.Approval(
            intent_id=intent.intent_id,
            approved=approved,
            args_digest=OTHER if other else b"",
            namespace=NAMESPACE,
        )
        envelope = AgentEnvelope(
            entity_key=intent.entity_key, event_time_ms=self.harness.now_ms, approval=approval
        )
        return multiple(*self._send(envelope))

    @rule(target=intents, key=st.sampled_from(KEYS), offset=st.integers(-2, 1))
    def retry(self, key: bytes, offset: int) -> object:
        envelope = AgentEnvelope(entity_key=key, event_time_ms=self.harness.now_ms)
        envelope.retry.seq = max(0, self.harness.state(key).next_seq + offset)
        return multiple(*self._send(envelope))

    @rule(target=intents)
    def last_envelope_again(self) -> object:
        """A source reads its last envelope again."""
        last = self.history[-1] if self.history else 0
        return multiple() if isinstance(last, int) else multiple(*self._send(last))

    @rule(target=intents, ms=st.integers(1, 6_000))
    def time_passes(self, ms: int) -> object:
        before = len(self.harness.intents)
        self.harness.advance_to(self.harness.now_ms + ms)
        self.history.append(self.harness.now_ms)
        return multiple(*self.harness.intents[before:])

    # --- what must stay true -----------------------------------------------------------------

    @invariant()
    def each_seq_completes_at_most_once(self) -> None:
        ends = Counter((each.entity_key, each.seq) for each in self.harness.completions)
        assert all(times == 1 for times in ends.values())

    @invariant()
    def ids_are_unique_for_ever_and_those_of_their_position(self) -> None:
        seen = [intent.intent_id for intent in self.harness.intents]
        assert len(set(seen)) == len(seen)
        for intent in self.harness.intents:
            position = intent.entity_key, intent.seq, intent.step_index
            assert intent.intent_id == intent_id_for(*position, namespace=NAMESPACE)

    @invariant()
    def no_intent_of_an_uncommitted_run_left(self) -> None:
        assert not any("lost" in intent.args_json for intent in self.harness.intents)

    @invariant()
    def every_run_ends_in_one_way(self) -> None:
        counted = self.harness.metrics
        runs = counted[Metric.ACTIVATIONS] + counted[Metric.RESUMES]
        # Of an envelope refused for its size, which no run has seen, the record says "with it".
        failed = [
            each
            for each in self.harness.errors
            if each.reason in FAILED_RUNS and not each.detail.startswith("with it ")
        ]
        assert runs == counted[Metric.COMPLETIONS] + counted[Metric.SUSPENSIONS] + len(failed)
        assert not [each for each in failed if "AssertionError" in each.detail]

    @invariant()
    def every_wait_will_end(self) -> None:
        for key in KEYS:
            state = self.harness.state(key)
            if state.HasField("continuation"):
                wait = state.continuation
                assert (wait.hold_ends_ms if wait.held else wait.deadline_ms) > 0
            else:
                assert not state.queue

    @invariant()
    def state_stays_under_its_limits(self) -> None:
        for key in KEYS:
            state = self.harness.state(key)
            assert bytes_beside_bookkeeping(state) <= CONFIG.max_state_bytes
            assert len(state.queue) <= CONFIG.max_queued_events
            assert len(state.parked) <= CONFIG.max_parked_answers

    def teardown(self) -> None:
        if hasattr(self, "harness"):
            self._replay_gives_the_same_bytes()
            self._in_the_end_nothing_waits()

    # --- how ---------------------------------------------------------------------------------

    def _replay_gives_the_same_bytes(self) -> None:
        again = AgentHarness(scripted, CONFIG)
        for step in self.history:
            if isinstance(step, int):
                again.advance_to(step)
            else:
                again.send(step)
        assert emitted(again) == emitted(self.harness)
        assert [again.cell(key) for key in KEYS] == [self.harness.cell(key) for key in KEYS]

    def _in_the_end_nothing_waits(self) -> None:
        self.harness.advance_to(self.harness.now_ms + 1_000_000)
        for key in KEYS:
            state = self.harness.state(key)
            assert not state.HasField("continuation")
            assert not state.queue
            assert not state.parked

    def _answer(self, intent: ToolIntent, result: ToolResult, late_ms: int) -> list[ToolIntent]:
        return self._send(
            AgentEnvelope(
                entity_key=intent.entity_key,
                event_time_ms=self.harness.now_ms + late_ms,
                tool_result=result,
            )
        )

    def _send(self, envelope: AgentEnvelope) -> list[ToolIntent]:
        """Send it in a bundle that crashes, and again in one that commits."""
        key, before = envelope.entity_key, Counter(emitted(self.harness))
        sent = len(self.harness.intents)
        crashed = AgentHarness(scripted, CONFIG)
        crashed.set_cell(key, self.harness.cell(key))
        crashed.send(envelope)
        self.harness.send(envelope)
        self.history.append(envelope)
        assert Counter(emitted(self.harness)) - before == Counter(emitted(crashed))
        assert self.harness.cell(key) == crashed.cell(key)
        return self.harness.intents[sent:]


TestEngine = Engine.TestCase
TestEngine.settings = settings(
    max_examples=150,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
