"""The intents of one run: staged in step order, emitted only when the run commits."""

from __future__ import annotations

from collections.abc import Mapping

from beam_agents._protos import AgentEnvelope, ToolIntent
from beam_agents.core.config import MAX_TTL_MS, AgentConfig
from beam_agents.core.errors import ContextError
from beam_agents.core.request import ToolRequest
from beam_agents.core.run import Run
from beam_agents.tools import Tool


class Staging:
    """Collects what a run asks for, in `Run.intents`. A refused request consumes no step."""

    def __init__(self, run: Run, config: AgentConfig) -> None:
        self._run = run
        self._config = config

    def act(
        self,
        tool: str | Tool,
        args: str | Mapping[str, object],
        *,
        ttl_ms: int | None,
        in_order: bool,
        approval: AgentEnvelope.Approval | None,
    ) -> str:
        """Stage an effect; see `ActivationContext.act`."""
        request = ToolRequest.of(tool, args, self._config.tools)
        request.require_side_effect()
        request.require_grant(approval)
        intent = self._stage(request, ToolIntent.TOOL, ttl_ms)
        intent.may_overlap = not in_order
        if approval is not None:
            intent.approval.CopyFrom(approval)
        return intent.intent_id

    def request_approval(
        self,
        tool: str | Tool,
        args: str | Mapping[str, object],
        *,
        ttl_ms: int | None,
        summary: str,
    ) -> str:
        """Stage a question to a person; see `ActivationContext.request_approval`."""
        request = ToolRequest.of(tool, args, self._config.tools)
        request.require_side_effect()
        intent = self._stage(request, ToolIntent.APPROVAL, ttl_ms)
        intent.summary = summary
        return intent.intent_id

    def _stage(self, request: ToolRequest, kind: ToolIntent.Kind, ttl_ms: int | None) -> ToolIntent:
        run = self._run
        if run.is_over:  # staged by a forgotten task, it would be lost in silence
            raise ContextError(
                "this activation is over: await every task that stages intents before returning"
            )
        _check_ttl(ttl_ms)
        step = run.next_step
        intent = ToolIntent(
            intent_id=run.intent_id(step),
            entity_key=run.key,
            seq=run.seq,
            step_index=step,
            tool_name=request.tool_name,
            args_json=request.args_json,
            created_at_ms=run.now_ms,
            expires_at_ms=0 if ttl_ms is None else run.now_ms + ttl_ms,
            kind=kind,
            trace_id=run.trace_id,
            namespace=run.namespace,
            origin_digest=run.origin_digest,
            schema_digest=request.schema_digest,
        )
        run.intents.append(intent)
        return intent


def _check_ttl(ttl_ms: int | None) -> None:
    if ttl_ms is None:
        return
    if type(ttl_ms) is not int or not 0 < ttl_ms <= MAX_TTL_MS:
        raise ValueError(
            f"ttl_ms must be an int from 1 to {MAX_TTL_MS} (30 days), not {ttl_ms!r}; "
            "leave it out to use the suspension's deadline"
        )
