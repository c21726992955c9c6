"""The engine under arbitrary histories, judged by a reference that was written apart from it.

Whatever comes in whatever order: events, answers of every kind, timers, crashes,
repeated bundles and bad releases. `make model-test` looks longer.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from beam_agents._protos import (
    ActivationErrorRecord,
    ActivationTrace,
    AgentEnvelope,
    Completion,
    ToolIntent,
    ToolResult,
)
from beam_agents._protos.state_pb2 import Continuation, KeyState
from beam_agents.core.bundle import Input
from beam_agents.core.clock import next_due_ms
from beam_agents.core.config import AgentConfig
from beam_agents.core.emissions import Outgoing
from beam_agents.intents import Keyring, Signer
from beam_agents.intents.fingerprint import fingerprint, grant_digest
from tests.unit.core.engine_reference import Answer, Reference, id_of
from tests.unit.core.engine_scripts import Run, World, script_of
from tests.unit.core.engine_subject import Cells, Subject, bytes_of, happening_of

KEYS = (b"a", b"b")
OTHER = b"\x01" * 32
RUN_FAILURES = ("agent_failed", "resume_failed", "invalid_return")
SIGNER = Signer(Keyring.parse("k1=" + "QUJD" * 11), "k1")
FORGER = Signer(Keyring.parse("k1=" + "REVG" * 11), "k1")


def keyring() -> Keyring:
    return Keyring.parse("k1=" + "QUJD" * 11)


CONFIG = AgentConfig(
    namespace="model",
    ttl_ms=20_000,
    hold_ms=5_000,
    parked_ms=3_000,
    intent_ttl_ms=2_000,
    max_event_age_ms=1_500,
    max_queued_events=2,
    max_parked_answers=2,
    remembered_event_ids=3,
    result_keys=keyring,
    approval_keys=keyring,
    traces=True,
)
CONFIGS = st.builds(
    replace,
    st.just(CONFIG),
    on_timeout=st.sampled_from(["error", "resume"]),
    on_resume_error=st.sampled_from(["hold", "end"]),
    while_suspended=st.sampled_from(["queue", "queue", "reject"]),
)
# What is listed twice is drawn twice as often.
RUNS = st.builds(
    Run,
    acts=st.sampled_from(["", "p", "pp", "a", "pa", "ps", "g", "gp"]),
    end=st.sampled_from(["complete", "complete", "all", "all", "any", "first", "none", "garbage"]),
    fails_at=st.integers(0, 2),
    fails=st.sampled_from(["never", "never", "never", "never", "sick", "sick", "always"]),
)
FIRST_RUNS = st.builds(
    Run,
    acts=st.sampled_from(["p", "pp", "pps", "a", "pa"]),
    end=st.sampled_from(["all", "all", "any", "first"]),
    fails_at=st.integers(0, 2),
    fails=st.sampled_from(["never", "sick"]),
)
REST = st.lists(RUNS, max_size=3)
SCRIPTS = st.builds(lambda first, rest: script_of(first, *rest), RUNS, REST)
SUSPENDING = st.builds(lambda first, rest: script_of(first, *rest), FIRST_RUNS, REST)
NONSENSE = st.sampled_from([*[""] * 9, "empty", "other key", "export"])
FAULTS = st.sampled_from(["", "", "", "", "fingerprint", "key", "seq", "id", "namespace", "forged"])
DIGESTS = st.sampled_from(["right", "right", "none", "other"])
STATUSES = st.sampled_from([ToolResult.OK, ToolResult.OK, ToolResult.ERROR])
DEATHS = st.none() | st.none() | st.integers(0, 3)
LATE_MS = st.sampled_from([-1_200, -1, 0, 0, 300, 999, 1_000, 1_001, 1_200])
AGES_MS = st.sampled_from([0, 0, 300, 999, 1_000, 1_500, 1_501])


@dataclass(frozen=True)
class Step:
    """One input of one key, the release that processed it, and what left.

    Attributes:
        before: What was kept of all keys.
    """

    key: bytes
    item: Input
    forged: bool
    sick: bool
    before: Cells
    left: list[bytes]


class Engine(RuleBasedStateMachine):
    """The engine beside its reference."""

    max_state_bytes = CONFIG.max_state_bytes
    is_judged = True  # a limit in bytes is out of the reference's sight

    @initialize(config=CONFIGS)
    def start(self, config: AgentConfig) -> None:
        self.config = replace(config, max_state_bytes=self.max_state_bytes)
        self.world = World()
        self.subject = Subject(self.config, self.world)
        self.reference = Reference(config, self.world)
        self.now_ms = 10_000
        self.history: list[Step] = []
        self.emissions: dict[bytes, list[Outgoing]] = {key: [] for key in KEYS}
        self.intents: list[ToolIntent] = []

    # --- what may happen ---------------------------------------------------------------------

    @rule(key=st.sampled_from(KEYS), script=SUSPENDING, dies_at=DEATHS)
    def effects_are_wanted(self, key: bytes, script: bytes, dies_at: int | None) -> None:
        envelope = self._envelope(key)
        envelope.external_event = script
        self._take(key, envelope, dies_at=dies_at)

    @rule(
        key=st.sampled_from(KEYS),
        script=SCRIPTS,
        event_id=st.sampled_from(["", "", "e1", "e2", "e3", "e4"]),
        age_ms=AGES_MS,
        nonsense=NONSENSE,
        dies_at=DEATHS,
    )
    def event(
        self, key: bytes, script: bytes, event_id: str, age_ms: int, nonsense: str,
        dies_at: int | None,
    ) -> None:  # fmt: skip
        envelope = self._envelope(key, -age_ms)
        envelope.event_id = event_id
        if nonsense == "export":
            envelope.export_request.request_id = "r"
        elif nonsense != "empty":
            envelope.external_event = script
        if nonsense == "other key":
            envelope.entity_key = b"elsewhere"
        self._take(key, envelope, dies_at=dies_at)

    @precondition(lambda self: any(self._awaited(key) for key in KEYS))
    @rule(pick=st.integers(0, 7), status=STATUSES, fault=FAULTS, digest=DIGESTS, dies_at=DEATHS)
    def awaited_answer(
        self, pick: int, status: ToolResult.Status, fault: str, digest: str, dies_at: int | None
    ) -> None:
        """What a suspended key waits for, in any order, or nearly that."""
        awaited = [intent for key in KEYS for intent in self._awaited(key)]
        intent = awaited[pick % len(awaited)]
        answer: Answer = self._result(intent, status)
        if intent.kind == ToolIntent.APPROVAL:
            answer = self._decision(intent, status == ToolResult.OK, digest)
        self._answer(intent.entity_key, answer, fault, 0, dies_at)

    @precondition(lambda self: self.intents)
    @rule(
        pick=st.integers(0, 15),
        status=STATUSES,
        fault=FAULTS,
        late_ms=LATE_MS,
        dies_at=DEATHS,
    )
    def result(
        self, pick: int, status: ToolResult.Status, fault: str, late_ms: int, dies_at: int | None
    ) -> None:
        """The result of one of the last intents, whatever has become of it."""
        intent = self._recent(pick)
        self._answer(intent.entity_key, self._result(intent, status), fault, late_ms, dies_at)

    @precondition(lambda self: self.intents)
    @rule(pick=st.integers(0, 15), performed=st.booleans(), late_ms=LATE_MS)
    def expiry(self, pick: int, performed: bool, late_ms: int) -> None:
        result = self._result(self._recent(pick), ToolResult.EXPIRED)
        result.outcome = ToolResult.UNKNOWN if performed else ToolResult.NOT_APPLIED
        self._answer(result.entity_key, result, "", late_ms, None)

    @precondition(lambda self: self.intents)
    @rule(
        pick=st.integers(0, 15),
        approved=st.booleans(),
        digest=DIGESTS,
        fault=FAULTS,
        dies_at=DEATHS,
    )
    def decision(
        self, pick: int, approved: bool, digest: str, fault: str, dies_at: int | None
    ) -> None:
        intent = self._recent(pick)
        self._answer(intent.entity_key, self._decision(intent, approved, digest), fault, 0, dies_at)

    @rule(
        key=st.sampled_from(KEYS),
        ahead=st.integers(-1, 2),
        step=st.integers(0, 2),
        is_decision=st.booleans(),
        status=STATUSES,
    )
    def answer_ahead(
        self, key: bytes, ahead: int, step: int, is_decision: bool, status: ToolResult.Status
    ) -> None:
        """The answer to what may not have been asked yet, as a replay brings it."""
        seq = max(0, self.subject.state(key).next_seq + ahead)
        intent = ToolIntent(entity_key=key, seq=seq, step_index=step)
        intent.intent_id = id_of(self.config.namespace, key, seq, step)
        if is_decision:
            self._answer(key, self._decision(intent, True, "none"), "", 0, None)
            return
        result = self._result(intent, status)
        result.ClearField("fingerprint")
        self._answer(key, result, "", 0, None)

    @precondition(lambda self: any(self._has_fallen(intent) for intent in self.intents))
    @rule(pick=st.integers(0, 7), status=STATUSES, late_ms=LATE_MS)
    def answer_after_the_end(self, pick: int, status: ToolResult.Status, late_ms: int) -> None:
        """The result of an intent whose activation is over."""
        fallen = [intent for intent in self.intents if self._has_fallen(intent)]
        intent = fallen[-1 - pick % len(fallen)]
        self._answer(intent.entity_key, self._result(intent, status), "", late_ms, None)

    @rule(key=st.sampled_from(KEYS), offset=st.sampled_from([-2, -1, 0]), dies_at=DEATHS)
    def retry(self, key: bytes, offset: int, dies_at: int | None) -> None:
        envelope = self._envelope(key)
        envelope.retry.seq = self.subject.state(key).next_seq + offset
        self._take(key, envelope, dies_at=dies_at)

    @precondition(lambda self: any(self._wait(key).held for key in KEYS))
    @rule(sick=st.booleans(), dies_at=DEATHS)
    def retry_of_what_is_held(self, sick: bool, dies_at: int | None) -> None:
        self.world.sick = sick
        for key in KEYS:
            if self._wait(key).held:
                envelope = self._envelope(key)
                envelope.retry.seq = self._wait(key).seq
                self._take(key, envelope, dies_at=dies_at)

    @precondition(lambda self: self.history)
    @rule(back=st.integers(1, 4))
    def envelope_again(self, back: int) -> None:
        """A source reads one of its last envelopes again."""
        step = self.history[-min(back, len(self.history))]
        if not isinstance(step.item, int):
            self._take(step.key, step.item, forged=step.forged)

    @rule(ms=st.sampled_from([1, 299, 700, 1_000, 3_000, 20_000]), dies_at=DEATHS)
    def time_passes(self, ms: int, dies_at: int | None) -> None:
        self._advance_to(self.now_ms + ms, dies_at)

    @precondition(lambda self: any(self._due(key) for key in KEYS))
    @rule(dies_at=DEATHS)
    def the_next_timer_fires(self, dies_at: int | None) -> None:
        due_ms, _ = min(due for due in map(self._due, KEYS) if due)
        self._advance_to(max(due_ms, self.now_ms), dies_at)

    @rule(key=st.sampled_from(KEYS), ago_ms=st.integers(0, 3_000))
    def stray_timer(self, key: bytes, ago_ms: int) -> None:
        """A timer fires that was set long ago, or fired before."""
        self._take(key, self.now_ms - ago_ms)

    @rule(sick=st.booleans())
    def release(self, sick: bool) -> None:
        self.world.sick = sick

    @rule(back=st.integers(1, 12))
    def bundle_again(self, back: int) -> None:
        """Another worker gets the last inputs again, in other bundles, on what was kept then."""
        self._assert_repeated(self.history[-back:])

    # --- what must stay true -----------------------------------------------------------------

    @invariant()
    def each_seq_completes_at_most_once(self) -> None:
        for emissions in self.emissions.values():
            ends = Counter(each.seq for each in emissions if isinstance(each, Completion))
            assert all(times == 1 for times in ends.values())

    @invariant()
    def ids_are_unique_for_ever(self) -> None:
        ids = {each.intent_id for each in self.intents}
        assert len(ids) == len(self.intents)

    @invariant()
    def a_run_gives_what_its_end_says(self) -> None:
        for emissions in self.emissions.values():
            assert_whole_runs(emissions)

    @invariant()
    def each_wait_has_an_end(self) -> None:
        for key in KEYS:
            state = self.subject.state(key)
            if state.HasField("continuation") or state.parked:
                assert next_due_ms(state, self.config.ttl_ms) is not None
            if state.queue:
                assert state.HasField("continuation")

    @invariant()
    def what_is_kept_is_bounded(self) -> None:
        for key in KEYS:
            state = self.subject.state(key)
            assert len(state.queue) <= self.config.max_queued_events
            assert len(state.parked) <= self.config.max_parked_answers
            assert bytes_beside_bookkeeping(state) <= self.max_state_bytes

    def teardown(self) -> None:
        if not hasattr(self, "subject"):
            return
        self._assert_each_prefix_repeated()
        self._assert_repeated(self.history)
        self._advance_to(self.now_ms + 1_000_000, None)
        for key in KEYS:
            state = self.subject.state(key)
            assert not state.HasField("continuation")
            assert not state.queue
            assert not state.parked

    # --- how ---------------------------------------------------------------------------------

    def _envelope(self, key: bytes, late_ms: int = 0) -> AgentEnvelope:
        return AgentEnvelope(
            entity_key=key, event_time_ms=self.now_ms + late_ms, received_at_ms=self.now_ms
        )

    def _wait(self, key: bytes) -> Continuation:
        return self.subject.state(key).continuation

    def _has_fallen(self, intent: ToolIntent) -> bool:
        """Tell whether an intent is of no live continuation."""
        state = self.subject.state(intent.entity_key)
        return not state.HasField("continuation") or state.continuation.seq != intent.seq

    def _awaited(self, key: bytes) -> list[ToolIntent]:
        wait = self._wait(key)
        steps = {
            each.step for each in wait.intents if each.awaited and not each.WhichOneof("answer")
        }
        place = [each for each in self.intents if (each.entity_key, each.seq) == (key, wait.seq)]
        return [each for each in place if each.step_index in steps]

    def _recent(self, pick: int) -> ToolIntent:
        return self.intents[-1 - pick % len(self.intents)]

    def _result(self, intent: ToolIntent, status: ToolResult.Status) -> ToolResult:
        return ToolResult(
            intent_id=intent.intent_id,
            entity_key=intent.entity_key,
            seq=intent.seq,
            step_index=intent.step_index,
            status=status,
            payload=b"null",
            fingerprint=fingerprint(intent),
            namespace=self.config.namespace,
        )

    def _decision(self, intent: ToolIntent, approved: bool, digest: str) -> AgentEnvelope.Approval:
        digests = {"right": grant_digest_of(intent), "other": OTHER, "none": b""}
        return AgentEnvelope.Approval(
            intent_id=intent.intent_id,
            approved=approved,
            args_digest=digests[digest],
            namespace=self.config.namespace,
        )

    def _answer(
        self, key: bytes, answer: Answer, fault: str, late_ms: int, dies_at: int | None
    ) -> None:
        """Send an answer, signed by whom it should be, with at most one thing wrong."""
        spoil(answer, fault)
        (FORGER if fault == "forged" else SIGNER).sign(answer)
        envelope = self._envelope(key, late_ms)
        if isinstance(answer, ToolResult):
            envelope.tool_result.CopyFrom(answer)
        else:
            envelope.approval.CopyFrom(answer)
        self._take(key, envelope, forged=fault == "forged", dies_at=dies_at)

    def _advance_to(self, until_ms: int, dies_at: int | None) -> None:
        """Fire every timer that is due, in order."""
        while due := [each for each in map(self._due, KEYS) if each and each[0] <= until_ms]:
            due_ms, key = min(due)
            self.now_ms = max(self.now_ms, due_ms)
            self._take(key, due_ms, dies_at=dies_at)
        self.now_ms = until_ms

    def _due(self, key: bytes) -> tuple[int, bytes] | None:
        due_ms = next_due_ms(self.subject.state(key), self.config.ttl_ms)
        return None if due_ms is None else (due_ms, key)

    def _take(
        self, key: bytes, item: Input, *, forged: bool = False, dies_at: int | None = None
    ) -> None:
        """Process an input, perhaps after a worker that died of it, and compare."""
        before = dict(self.subject.cells)
        if dies_at is not None:
            self.subject.die({key: [item]}, dies_at)
        assert self.subject.cells == before
        left = self.subject.play({key: [item]})[key]
        self.emissions[key] += left
        self.intents += (each for each in left if isinstance(each, ToolIntent))
        self.history.append(
            Step(key, item, forged, self.world.sick, before, [bytes_of(each) for each in left])
        )
        if self.is_judged:
            if isinstance(item, int):
                expected = self.reference.on_time(key, item)
            else:
                expected = self.reference.on_envelope(key, item, forged=forged)
            assert [each for each in map(happening_of, left) if each is not None] == expected
            due_ms = next_due_ms(self.subject.state(key), self.config.ttl_ms)
            assert due_ms == self.reference.due_ms(key)

    def _assert_each_prefix_repeated(self) -> None:
        """Input by input, from nothing, in a process that knows nothing of the first."""
        again = Subject(self.config, self.world)
        for step in self.history:
            assert again.cells == step.before
            self.world.sick = step.sick
            left = again.play({step.key: [step.item]})[step.key]
            assert [bytes_of(each) for each in left] == step.left
        assert again.cells == self.subject.cells

    def _assert_repeated(self, steps: Sequence[Step]) -> None:
        """The same inputs in as few bundles as there are releases, to the end."""
        sick, again = self.world.sick, Subject(self.config, self.world)
        again.cells = dict(steps[0].before) if steps else {}
        for was_sick, group in itertools.groupby(steps, key=lambda step: step.sick):
            inboxes: dict[bytes, list[Input]] = {}
            expected: dict[bytes, list[bytes]] = {}
            for step in group:
                inboxes.setdefault(step.key, []).append(step.item)
                expected.setdefault(step.key, []).extend(step.left)
            self.world.sick = was_sick
            left = again.play(inboxes)
            assert {key: [bytes_of(each) for each in left[key]] for key in left} == expected
        self.world.sick = sick
        if steps:
            assert [again.state(key) for key in KEYS] == [self.subject.state(key) for key in KEYS]


class CrampedEngine(Engine):
    """The same with little room for state, where envelopes and runs are refused for it."""

    max_state_bytes = 600
    is_judged = False


def spoil(answer: Answer, fault: str) -> None:
    match fault:
        case "id":
            answer.intent_id = id_of("model", b"nobody", 0, 0)
        case "namespace":
            answer.namespace = "another"
        case "fingerprint" if isinstance(answer, ToolResult):
            answer.fingerprint = OTHER
        case "key" if isinstance(answer, ToolResult):
            answer.entity_key = b"elsewhere"
        case "seq" if isinstance(answer, ToolResult):
            answer.seq += 1


def assert_whole_runs(emissions: Sequence[Outgoing]) -> None:
    """Split what left of a key into its runs, each of which ends by its trace."""
    run: list[Outgoing] = []
    has_failed = False
    for each in emissions:
        if isinstance(each, ActivationErrorRecord):
            assert has_failed or each.reason not in RUN_FAILURES
            has_failed = False
            continue
        assert not has_failed
        if not isinstance(each, ActivationTrace):
            run.append(each)
            continue
        has_failed = each.outcome == ActivationTrace.FAILED
        intents = [one for one in run if isinstance(one, ToolIntent)]
        ends = [one for one in run if isinstance(one, Completion)]
        assert len(ends) == (each.outcome == ActivationTrace.COMPLETED)
        assert ends or run == intents
        assert not (has_failed and run)
        run = []
    assert not has_failed
    assert not run


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


def grant_digest_of(intent: ToolIntent) -> bytes:
    return grant_digest(
        namespace=intent.namespace,
        entity_key=intent.entity_key,
        tool_name=intent.tool_name,
        args_json=intent.args_json,
    )


# `make model-test` asks for thousands.
EXAMPLES = int(os.environ.get("BEAM_AGENTS_MODEL_EXAMPLES", "100"))
SETTINGS = settings(stateful_step_count=60, suppress_health_check=[HealthCheck.too_slow])

TestEngine = Engine.TestCase
TestEngine.settings = settings(SETTINGS, max_examples=EXAMPLES)
TestCrampedEngine = CrampedEngine.TestCase
TestCrampedEngine.settings = settings(SETTINGS, max_examples=EXAMPLES // 3)
