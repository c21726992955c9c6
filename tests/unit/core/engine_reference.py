"""What section 6 of the design says of one key, written a second time: the tests' judge.

It shares no code with the engine, keeps plain Python values, and knows nothing of
Beam, coroutines, bytes of state or bundles. Where both disagree, one of them is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID, uuid5

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents.core.config import AgentConfig
from beam_agents.intents import fingerprint
from tests.unit.core import engine_scripts as scripts

Happening: TypeAlias = tuple[Any, ...]  # ("output", …), ("intent", …), ("completion" | "error", …)
Answer: TypeAlias = "ToolResult | AgentEnvelope.Approval"
_IDS = UUID("6f3e9d2a-1c47-5b8e-9a10-2d4f6b8c0e11")
_EARLY = object()


@dataclass
class Asked:
    """One intent of a suspended activation."""

    step: int
    id: str
    is_approval: bool
    fingerprint: bytes
    grant: bytes
    awaited: bool = False
    answer: Answer | None = None


@dataclass
class Wait:
    """A suspension."""

    seq: int
    origin: bytes
    script: bytes
    run: int
    next_step: int
    deadline_ms: int
    any: bool
    asked: list[Asked]
    last: str = ""
    timed_out: bool = False
    held: bool = False
    hold_ends_ms: int = 0

    @property
    def is_over(self) -> bool:
        return bool(self.last) or self.timed_out


@dataclass
class Key:
    """All that is known of one key."""

    next_seq: int = 0
    wait: Wait | None = None
    queue: list[AgentEnvelope] = field(default_factory=list)
    parked: list[tuple[AgentEnvelope, int]] = field(default_factory=list)
    memory: bytes = b""
    event_ids: list[str] = field(default_factory=list)
    dealt: list[bytes] = field(default_factory=list)
    timed_out: list[tuple[int, int]] = field(default_factory=list)
    active_ms: int = 0

    @property
    def is_forgettable(self) -> bool:
        return bool(self.memory or self.event_ids or self.dealt or self.timed_out)


class Reference:
    """One agent's keys.

    Args:
        config: Of the agent under test; state limits are out of its sight.
        world: Where the agent runs.
    """

    def __init__(self, config: AgentConfig, world: scripts.World) -> None:
        self.config = config
        self.world = world
        self.keys: dict[bytes, Key] = {}

    def due_ms(self, key: bytes) -> int | None:
        """When the key needs its timer next."""
        known = self.keys.get(key, Key())
        due = [until_ms for _, until_ms in known.parked]
        if known.wait is not None:
            due.append(known.wait.hold_ends_ms if known.wait.held else known.wait.deadline_ms)
        elif known.is_forgettable:
            due.append(known.active_ms + self.config.ttl_ms)
        return min(due, default=None)

    def on_envelope(self, key: bytes, envelope: AgentEnvelope, *, forged: bool) -> list[Happening]:
        """What comes of an envelope."""
        turn = _Turn(self, key, max(envelope.event_time_ms, envelope.received_at_ms))
        kind = envelope.WhichOneof("payload")
        if envelope.entity_key != key or kind is None:
            turn.refuse("malformed", envelope)
            return turn.happened
        if kind == "external_event":
            turn.take_event(envelope)
        elif kind == "retry":
            wait = turn.key.wait
            if wait is not None and wait.held and wait.seq == envelope.retry.seq:
                wait.held = False
        elif kind == "export_request":
            turn.refuse("unsupported", envelope)
        else:
            turn.take_answer(envelope, forged=forged)
        turn.settle()
        return turn.happened

    def on_time(self, key: bytes, at_ms: int) -> list[Happening]:
        """What comes of a timer, whatever it had been set to."""
        turn = _Turn(self, key, at_ms)
        turn.pass_time()
        turn.settle()
        return turn.happened


class _Turn:
    def __init__(self, reference: Reference, key: bytes, now_ms: int) -> None:
        self.config = reference.config
        self.world = reference.world
        self.name = key
        self.key = reference.keys.setdefault(key, Key())
        self.now_ms = now_ms
        self.happened: list[Happening] = []

    def id(self, seq: int, step: int) -> str:
        return id_of(self.config.namespace, self.name, seq, step)

    def refuse(self, reason: str, envelope: AgentEnvelope, seq: int = 0) -> None:
        answer = _answer_of(envelope)
        if isinstance(answer, ToolResult):
            seq = answer.seq
        intent_id = answer.intent_id if answer is not None else ""
        self.happened.append(("error", reason, seq, intent_id, [], 0))

    # --- events ------------------------------------------------------------------------------

    def take_event(self, event: AgentEnvelope) -> None:
        key, oldest_ms = self.key, self.config.max_event_age_ms
        if oldest_ms is not None and self.now_ms - event.event_time_ms > oldest_ms:
            self.refuse("stale", event)
        elif event.event_id and event.event_id in key.event_ids:
            pass
        elif key.wait is None:
            self._accept(event)
            self._begin(event, self.now_ms)
        elif self.config.while_suspended == "reject":
            self.refuse("suspended", event)
        elif len(key.queue) == self.config.max_queued_events:
            self.refuse("queue_full", event)
        else:
            self._accept(event)
            key.queue.append(event)

    def _accept(self, event: AgentEnvelope) -> None:
        if event.event_id:
            self.key.event_ids.append(event.event_id)
            del self.key.event_ids[: -self.config.remembered_event_ids]

    # --- answers -----------------------------------------------------------------------------

    def take_answer(self, envelope: AgentEnvelope, *, forged: bool) -> None:
        key, answer = self.key, _answer_of(envelope)
        assert answer is not None
        if not self._is_ours(answer):
            return
        if forged:
            self.refuse("unverified", envelope)
        elif self._judge(envelope) is _EARLY:
            if any(_answer_of(parked) == answer for parked, _ in key.parked):
                return
            if len(key.parked) == self.config.max_parked_answers:
                self.refuse("foreign", envelope)
            else:
                key.parked.append((envelope, self.now_ms + self.config.parked_ms))

    def _is_ours(self, answer: Answer) -> bool:
        if answer.namespace:
            return answer.namespace == self.config.namespace
        return self._asked(answer) is not None or self._is_at_its_place(answer)

    def _is_at_its_place(self, answer: Answer) -> bool:
        return (
            isinstance(answer, ToolResult)
            and answer.entity_key in (b"", self.name)
            and answer.intent_id == self.id(answer.seq, answer.step_index)
        )

    def _asked(self, answer: Answer) -> Asked | None:
        asked = self.key.wait.asked if self.key.wait is not None else []
        return next((each for each in asked if each.id == answer.intent_id), None)

    def _judge(self, envelope: AgentEnvelope) -> object:
        """Deal with an answer, or say that it is early."""
        key, answer = self.key, _answer_of(envelope)
        assert answer is not None
        raw = answer.SerializeToString(deterministic=True)
        wait, asked = key.wait, self._asked(answer)
        fits = asked is not None and self._fits(asked, answer)
        waits = asked is not None and asked.awaited and asked.answer is None
        in_time = wait is not None and (wait.held or envelope.event_time_ms < wait.deadline_ms)
        if wait and asked and fits and waits and in_time:
            self._admit(wait, asked, answer)
            self._deal(raw)
            return None
        if raw in key.dealt or (asked is not None and asked.answer == answer):
            return None
        if (waits and fits) or self._is_of_a_timeout(answer):
            if not _is_unperformed(answer):
                self.refuse("late", envelope)
        elif asked is not None and not fits:
            self.refuse("foreign", envelope)
            return None
        elif asked is not None and asked.answer is not None:
            self.refuse("late", envelope)
        elif asked is not None and wait is not None:
            wait.asked.remove(asked)
            self._note_unawaited(answer, envelope)
        elif isinstance(answer, ToolResult) and not self._is_at_its_place(answer):
            self.refuse("foreign", envelope)
            return None
        elif isinstance(answer, ToolResult) and self._has_passed(answer):
            self._note_unawaited(answer, envelope)
        else:
            return _EARLY
        self._deal(raw)
        return None

    def _fits(self, asked: Asked, answer: Answer) -> bool:
        if isinstance(answer, AgentEnvelope.Approval):
            return asked.is_approval and answer.args_digest in (b"", asked.grant)
        if asked.is_approval and answer.status == ToolResult.OK:
            return False
        return (
            answer.entity_key in (b"", self.name)
            and self.key.wait is not None
            and answer.seq in (0, self.key.wait.seq)
            and answer.fingerprint in (b"", asked.fingerprint)
        )

    def _admit(self, wait: Wait, asked: Asked, answer: Answer) -> None:
        asked.answer = answer
        complete = all(each.answer is not None for each in wait.asked if each.awaited)
        if not wait.is_over and (wait.any or complete):
            wait.last = asked.id

    def _deal(self, raw: bytes) -> None:
        self.key.dealt.append(raw)
        del self.key.dealt[:-32]

    def _note_unawaited(self, answer: Answer, envelope: AgentEnvelope) -> None:
        if isinstance(answer, ToolResult) and answer.status != ToolResult.OK:
            self.refuse("unawaited_failure", envelope)

    def _is_of_a_timeout(self, answer: Answer) -> bool:
        return any(
            answer.intent_id == self.id(seq, step)
            for seq, steps in self.key.timed_out
            for step in range(steps)
        )

    def _has_passed(self, answer: ToolResult) -> bool:
        wait = self.key.wait
        if wait is not None and wait.seq == answer.seq:
            return answer.step_index < wait.next_step
        return answer.seq < self.key.next_seq

    # --- time --------------------------------------------------------------------------------

    def pass_time(self) -> None:
        key, wait = self.key, self.key.wait
        for parked, until_ms in list(key.parked):
            if until_ms <= self.now_ms:
                key.parked.remove((parked, until_ms))
                self.refuse("foreign", parked)
        if wait is None:
            if key.is_forgettable and key.active_ms + self.config.ttl_ms <= self.now_ms:
                key.memory, key.active_ms = b"", 0
                key.event_ids, key.dealt, key.timed_out = [], [], []
        elif wait.held:
            if wait.hold_ends_ms <= self.now_ms:
                self._fail(wait, "hold_ended")
                key.wait = None
        elif wait.deadline_ms <= self.now_ms:
            if self.config.on_timeout == "resume":
                wait.timed_out = True
            else:
                self._fail(wait, "suspension_timeout")
                self._remember_timeout(wait)
                key.wait = None

    def settle(self) -> None:
        """Run what can run."""
        key = self.key
        while True:
            for parked in list(key.parked):
                if self._judge(parked[0]) is not _EARLY:
                    key.parked.remove(parked)
            if key.wait is not None:
                if key.wait.held or not key.wait.is_over:
                    return
                self._resume(key.wait)
            elif key.queue:
                event = key.queue.pop(0)
                own_ms = max(event.event_time_ms, event.received_at_ms)
                self._begin(event, max(own_ms, self.now_ms))
            else:
                return

    def _remember_timeout(self, wait: Wait) -> None:
        self.key.timed_out.append((wait.seq, wait.next_step))
        del self.key.timed_out[:-8]

    # --- runs --------------------------------------------------------------------------------

    def _begin(self, event: AgentEnvelope, now_ms: int) -> None:
        key, script = self.key, event.external_event
        origin = fingerprint.origin_digest(
            script, event_time_ms=event.event_time_ms, event_id=event.event_id
        )
        seq, key.next_seq = key.next_seq, key.next_seq + 1
        failed = self._run(Wait(seq, origin, script, 0, 0, 0, False, []), now_ms)
        if failed:
            key.event_ids = [each for each in key.event_ids if each != event.event_id]
            self.refuse(failed, event, seq)

    def _resume(self, wait: Wait) -> None:
        failed = self._run(wait, self.now_ms)
        if not failed:
            if wait.timed_out:
                self._remember_timeout(wait)
            return
        self._fail(wait, "resume_failed")
        if self.config.on_resume_error == "end":
            self.key.wait = None
            return
        wait.held = True
        wait.hold_ends_ms = wait.hold_ends_ms or self.now_ms + self.config.hold_ms

    def _fail(self, wait: Wait, reason: str) -> None:
        requested = [self.id(wait.seq, step) for step in range(wait.next_step)]
        answers = sum(each.answer is not None for each in wait.asked)
        self.happened.append(("error", reason, wait.seq, "", requested, answers))

    def _run(self, before: Wait, now_ms: int) -> str:
        """Play the script's next run: commit it whole, or return why not."""
        key, run = self.key, scripts.run_of(before.script, before.run)
        key.active_ms = max(key.active_ms, now_ms)
        intents: list[ToolIntent] = []
        for point, letter in enumerate((*run.acts, "")):
            if run.raises_at(point, sick=self.world.sick):
                return "agent_failed"
            if letter == "g" and not _has_grant(before):
                return "agent_failed"
            if letter:
                args = json.dumps(scripts.arguments(before.run, point), separators=(",", ":"))
                intents.append(self._intent(before, len(intents), letter, args, now_ms))
        pending = [each for each in before.asked if each.answer is None]
        asked = [*pending, *map(_asked_by, intents)]
        after: Wait | None = None
        if run.end != "complete":
            awaited = {"first": asked[:1], "none": [], "garbage": []}.get(run.end, asked)
            if not awaited:
                return "invalid_return"
            for each in asked:
                each.awaited = each in awaited
            steps = before.next_step + len(intents)
            after = Wait(before.seq, before.origin, before.script, before.run + 1, steps,
                         now_ms + scripts.TIMEOUT_MS, run.end == "any", asked)  # fmt: skip
        lives_ms = self.config.intent_ttl_ms if after is None else scripts.TIMEOUT_MS
        for intent in intents:
            expires_ms = intent.expires_at_ms or now_ms + lives_ms
            self.happened.append(("intent", *place_of(intent), now_ms, expires_ms))
        if after is None:
            view = _view(before, pending, key.memory)
            self.happened += [("output", view), ("completion", before.seq, view)]
        key.memory = (key.memory + b"m")[-scripts.MEMORY :]
        key.wait = after
        return ""

    def _intent(self, wait: Wait, nth: int, letter: str, args: str, now_ms: int) -> ToolIntent:
        step = wait.next_step + nth
        return ToolIntent(
            intent_id=self.id(wait.seq, step),
            entity_key=self.name,
            seq=wait.seq,
            step_index=step,
            tool_name="pay",
            args_json=args,
            kind=ToolIntent.APPROVAL if letter == "a" else ToolIntent.TOOL,
            expires_at_ms=now_ms + scripts.SHORT_MS if letter == "s" else 0,
            namespace=self.config.namespace,
            origin_digest=wait.origin,
        )


def id_of(namespace: str, key: bytes, seq: int, step: int) -> str:
    """The id of an intent by its place, as section 4 of the design has it."""
    return str(uuid5(uuid5(_IDS, namespace), f"{key.hex()}|{seq}|{step}"))


def place_of(intent: ToolIntent) -> tuple[str, int, int, int, str, bytes]:
    """What an intent is, but for its times."""
    return (
        intent.intent_id,
        intent.seq,
        intent.step_index,
        intent.kind,
        intent.args_json,
        fingerprint.fingerprint(intent),
    )


def _asked_by(intent: ToolIntent) -> Asked:
    return Asked(
        step=intent.step_index,
        id=intent.intent_id,
        is_approval=intent.kind == ToolIntent.APPROVAL,
        fingerprint=fingerprint.fingerprint(intent),
        grant=fingerprint.grant_digest(
            namespace=intent.namespace,
            entity_key=intent.entity_key,
            tool_name=intent.tool_name,
            args_json=intent.args_json,
        ),
    )


def _has_grant(wait: Wait) -> bool:
    """Tell whether `ctx.grant()` has one to give: the last answer's, or the only one's."""
    requests = [each for each in wait.asked if each.is_approval]
    meant = [each for each in requests if each.id == wait.last] or requests
    answer = meant[0].answer if len(meant) == 1 else None
    if not isinstance(answer, AgentEnvelope.Approval):
        return False
    return answer.approved and bool(answer.args_digest)


def _view(wait: Wait, pending: Iterable[Asked], memory: bytes) -> bytes:
    answers = {each.id: _said(each.answer) for each in wait.asked if each.answer is not None}
    return scripts.view_of(
        answers, [each.id for each in pending], wait.last, wait.timed_out, memory
    )


def _said(answer: Answer) -> str:
    if isinstance(answer, ToolResult):
        return ToolResult.Status.Name(answer.status)
    return scripts.decision(answer.approved)


def _answer_of(envelope: AgentEnvelope) -> Answer | None:
    match envelope.WhichOneof("payload"):
        case "tool_result":
            return envelope.tool_result
        case "approval":
            return envelope.approval
        case _:
            return None


def _is_unperformed(answer: Answer) -> bool:
    return (
        isinstance(answer, ToolResult)
        and answer.status == ToolResult.EXPIRED
        and answer.outcome == ToolResult.NOT_APPLIED
    )
