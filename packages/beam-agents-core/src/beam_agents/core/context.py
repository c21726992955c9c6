"""What an agent function is given: its event or its answers, and what it may ask for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from random import Random
from typing import TypeVar, overload

from beam_agents._protos import AgentEnvelope, ToolResult
from beam_agents.core.answers import Answers
from beam_agents.core.config import AgentConfig
from beam_agents.core.errors import ContextError
from beam_agents.core.inline import call_inline
from beam_agents.core.run import Run
from beam_agents.core.staging import Staging
from beam_agents.model.client import ModelClient
from beam_agents.tools import Tool
from beam_agents.tools.canonical_json import JsonValue

T = TypeVar("T")


class ActivationContext:
    """One run of the agent function for one key.

    Nothing here performs an effect: `act` and `request_approval` stage requests,
    which leave only when the function returns. All times are unix milliseconds.
    """

    def __init__(self, run: Run, config: AgentConfig, model: ModelClient | None) -> None:
        self._run = run
        self._config = config
        self._model = model

    # --- where and when ----------------------------------------------------------------------

    @property
    def entity_key(self) -> bytes:
        """The raw key."""
        return self._run.key

    @property
    def seq(self) -> int:
        """Index of the logical activation of this key; resumes keep it."""
        return self._run.seq

    @property
    def now_ms(self) -> int:
        """The activation's only clock; the same whenever the same envelope is processed."""
        return self._run.now_ms

    @property
    def event_time_ms(self) -> int:
        """Event time of the envelope, or of the deadline, that caused this run."""
        return self._run.event_time_ms

    @cached_property
    def random(self) -> Random:
        """A generator seeded by namespace, key and seq: replays draw the same numbers.

        A resume starts its sequence again.
        """
        run = self._run
        return Random(f"{run.namespace}|{run.key.hex()}|{run.seq}")  # noqa: S311 - for replays

    # --- what it is given --------------------------------------------------------------------

    @property
    def event(self) -> bytes:
        """Payload of the event that began the activation.

        Raises:
            ContextError: On a resume: the event is gone.
        """
        if self._run.event is None:
            raise ContextError(
                "a resume has no event: keep what you need of it in Suspend(snapshot=…)"
            )
        return self._run.event.external_event

    @property
    def memory(self) -> bytes:
        """The key's own bytes, empty at first; changed by `Complete` and `Suspend` only."""
        return self._run.memory

    @property
    def is_resume(self) -> bool:
        """Whether this run goes on after a wait."""
        return self._run.continuation is not None

    @property
    def timed_out(self) -> bool:
        """Whether the wait ended by its timeout (`AgentConfig(on_timeout="resume")`)."""
        return self._run.continuation is not None and self._run.continuation.timed_out

    @property
    def snapshot(self) -> bytes:
        """What the agent suspended with, empty on a fresh run."""
        return self._run.continuation.snapshot if self._run.continuation is not None else b""

    @property
    def adapter(self) -> str:
        """What wrote the snapshot, as the agent named it."""
        return self._run.continuation.adapter if self._run.continuation is not None else ""

    @property
    def snapshot_version(self) -> int:
        """The format of the snapshot, as the agent numbered it."""
        return self._run.continuation.snapshot_version if self._run.continuation is not None else 0

    # --- the answers of the wait -------------------------------------------------------------

    @property
    def pending(self) -> tuple[str, ...]:
        """The ids of earlier intents that are still unanswered, by step."""
        return self._answers.pending

    @property
    def results(self) -> Mapping[str, ToolResult]:
        """The tool results of this wait, by intent id."""
        return self._answers.results

    @property
    def approvals(self) -> Mapping[str, AgentEnvelope.Approval]:
        """The decisions of this wait, by intent id."""
        return self._answers.approvals

    @property
    def resume_result(self) -> ToolResult | None:
        """The tool result that completed the wait, if it was one."""
        last = self._answers.last
        return last if isinstance(last, ToolResult) else None

    @property
    def resume_approval(self) -> AgentEnvelope.Approval | None:
        """The decision that completed the wait, if it was one."""
        last = self._answers.last
        return None if isinstance(last, ToolResult) else last

    @overload
    def value(self, intent_id: str | None = None) -> JsonValue: ...

    @overload
    def value(self, intent_id: str | None = None, *, as_type: type[T]) -> T: ...

    def value(
        self, intent_id: str | None = None, *, as_type: type[T] | None = None
    ) -> T | JsonValue:
        """Decode the value of an effect.

        Args:
            intent_id: By default the one that completed the wait, or the only one.
            as_type: What the tool returned, such as its dataclass or pydantic model; by
                default plain JSON values.

        Raises:
            EffectError: The answer is not OK, or there is none.
            ContextError: The value is not of that type.
        """
        return self._answers.value(intent_id, as_type)

    def grant(self, intent_id: str | None = None) -> AgentEnvelope.Approval:
        """Return a person's approval, for `act(…, approval=)`.

        Args:
            intent_id: By default the request that completed the wait, or the only one.

        Raises:
            ApprovalDenied: The decision is a denial.
            ApprovalNotGiven: There is no decision, or it does not say on what.
        """
        return self._answers.grant(intent_id)

    # --- what it may ask for -----------------------------------------------------------------

    def act(
        self,
        tool: str | Tool,
        args: str | Mapping[str, object],
        *,
        ttl_ms: int | None = None,
        in_order: bool = True,
        approval: AgentEnvelope.Approval | None = None,
    ) -> str:
        """Stage an effect, and return its deterministic intent id.

        Args:
            tool: The tool, or its name in the effector's registry.
            args: A JSON object as text, or a mapping.
            ttl_ms: The effect may start until this long after `now_ms`, at most 30
                days; by default until the suspension's deadline.
            in_order: False lets it start beside unfinished effects of this key that
                were staged so too.
            approval: The grant that allows it, from `grant()`.

        Raises:
            ToolArgumentsError: The effector would refuse this; no step is consumed.
            ValueError: `ttl_ms` is out of range.
        """
        return self._staging.act(tool, args, ttl_ms=ttl_ms, in_order=in_order, approval=approval)

    def request_approval(
        self,
        tool: str | Tool,
        args: str | Mapping[str, object],
        *,
        ttl_ms: int | None = None,
        summary: str = "",
    ) -> str:
        """Ask a person to allow exactly this effect, and return the request's intent id.

        Args:
            tool: As for `act`.
            args: As for `act`: the decision is bound to them.
            ttl_ms: As for `act`; the decision is asked for until then.
            summary: What the person reads beside the arguments.
        """
        return self._staging.request_approval(tool, args, ttl_ms=ttl_ms, summary=summary)

    async def call_tool(self, tool: str | Tool, args: str | Mapping[str, object]) -> object:
        """Run a read-only tool here and now, with the effector's strict arguments.

        Raises:
            SideEffectToolError: The tool has a side effect: use `act`.
            ToolArgumentsError: The arguments do not fit, or the tool is not known.
        """
        return await call_inline(tool, args, self._config.tools)

    async def call_model(self, request: bytes) -> bytes:
        """Ask the model; an answer is remembered for a retry of this activation.

        Raises:
            ContextError: There is no model to ask.
        """
        if self._model is None:
            raise ContextError("there is no model: set AgentConfig(provider_factory=…)")
        run = self._run
        return await self._model.complete((run.key, run.seq, run.next_model_call()), request)

    # --- what many runs never need -----------------------------------------------------------

    @cached_property
    def _staging(self) -> Staging:
        return Staging(self._run, self._config)

    @cached_property
    def _answers(self) -> Answers:
        return Answers(self._run)
