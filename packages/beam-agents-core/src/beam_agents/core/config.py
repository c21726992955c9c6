"""What a user may set of an agent's engine, its defaults, and the ranges that hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from beam_agents.core.errors import AgentConfigError
from beam_agents.model.provider import ModelProvider

if TYPE_CHECKING:
    from beam_agents.intents.keyring import KeyringReference
    from beam_agents.tools import ToolRegistry

DAY_MS = 86_400_000
# The effector refuses what is due in more than a day beyond this.
MAX_TTL_MS = 30 * DAY_MS
# So that no sum of a time and a duration leaves what a runner's timer can hold.
MAX_DURATION_MS = 36_525 * DAY_MS

OnTimeout: TypeAlias = Literal["error", "resume"]
OnResumeError: TypeAlias = Literal["hold", "end"]
WhileSuspended: TypeAlias = Literal["queue", "reject"]


@dataclass(frozen=True, kw_only=True)
class AgentConfig:
    """Settings of one `RunAgent`. It is pickled into the pipeline: references, not secrets.

    Attributes:
        provider_factory: Makes the model client of a worker process, for `ctx.call_model`.
        tools: When given, `ctx.act` checks names, arguments and grants against it.
        namespace: Separates agents that share keys, topics or a dedup store.
        ttl_ms: An idle key's state is reduced to its seq after this long.
        intent_ttl_ms: Lifetime of intents whose activation completes without waiting.
        activation_timeout_ms: The longest that one run of the agent function may take.
        on_timeout: At a suspension's deadline: an error record, or one more run.
        on_resume_error: A failed resume is held for a retry, or ends.
        hold_ms: How long a failed resume is held.
        while_suspended: New events of a suspended key are queued, or refused.
        max_queued_events: Per key.
        max_parked_answers: Per key.
        parked_ms: How long an early answer waits for its suspension.
        remembered_event_ids: Per key, to drop repeats of an event.
        max_event_age_ms: Events older than this when received are refused as stale.
        max_snapshot_bytes: Limit of one suspension's snapshot.
        max_state_bytes: Limit of all that is kept for a key.
        max_concurrent_activations: Of different keys at once, in one worker process.
        result_keys: Keyring that verifies `ToolResult`s: "env:VAR", "file:/path" or a callable.
        approval_keys: Keyring that verifies `Approval`s.
        traces: Emit an `ActivationTrace` for each run of the agent function.
        trace_payloads: Put what the run was given and gave into its trace.
    """

    provider_factory: Callable[[], ModelProvider] | None = None
    tools: ToolRegistry | None = None
    namespace: str = ""
    ttl_ms: int = 30 * DAY_MS
    intent_ttl_ms: int = 3_600_000
    activation_timeout_ms: int = 60_000
    on_timeout: OnTimeout = "error"
    on_resume_error: OnResumeError = "hold"
    hold_ms: int = DAY_MS
    while_suspended: WhileSuspended = "queue"
    max_queued_events: int = 1_000
    max_parked_answers: int = 64
    parked_ms: int = 3_600_000
    remembered_event_ids: int = 32
    max_event_age_ms: int | None = None
    max_snapshot_bytes: int = 1_048_576
    max_state_bytes: int = 1_048_576
    max_concurrent_activations: int = 100
    result_keys: KeyringReference | None = None
    approval_keys: KeyringReference | None = None
    traces: bool = False
    trace_payloads: bool = False

    def __post_init__(self) -> None:
        for name in ("ttl_ms", "activation_timeout_ms", "hold_ms", "parked_ms"):
            self._require_integer(name, at_least=1, at_most=MAX_DURATION_MS)
        for name in ("max_snapshot_bytes", "max_state_bytes", "max_concurrent_activations"):
            self._require_integer(name, at_least=1)
        for name in ("max_queued_events", "max_parked_answers", "remembered_event_ids"):
            self._require_integer(name, at_least=0)
        self._require_integer("intent_ttl_ms", at_least=1, at_most=MAX_TTL_MS)
        if self.max_event_age_ms is not None:
            self._require_integer("max_event_age_ms", at_least=1)
        self._require_choice("on_timeout", get_args(OnTimeout))
        self._require_choice("on_resume_error", get_args(OnResumeError))
        self._require_choice("while_suspended", get_args(WhileSuspended))
        self._require_callable("provider_factory", "pass a function that makes the client")
        self._require_registry()
        self._require_keyring("result_keys")
        self._require_keyring("approval_keys")
        if self.trace_payloads and not self.traces:
            raise AgentConfigError("trace_payloads=True needs traces=True")
        if not isinstance(self.namespace, str):
            raise AgentConfigError(f"namespace must be a str, not {self.namespace!r}")

    def _require_integer(self, name: str, *, at_least: int, at_most: int | None = None) -> None:
        value = getattr(self, name)
        if type(value) is not int or value < at_least or (at_most is not None and value > at_most):
            limits = f"at least {at_least}" + (f" and at most {at_most}" if at_most else "")
            raise AgentConfigError(f"{name} must be an int of {limits}, not {value!r}")

    def _require_choice(self, name: str, choices: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if value not in choices:
            offered = " or ".join(repr(choice) for choice in choices)
            raise AgentConfigError(f"{name} must be {offered}, not {value!r}")

    def _require_callable(self, name: str, fix: str) -> None:
        value = getattr(self, name)
        if value is not None and not callable(value):
            raise AgentConfigError(f"{name} must be callable, not {value!r}: {fix}")

    def _require_registry(self) -> None:
        from beam_agents.tools import ToolRegistry

        if self.tools is not None and not isinstance(self.tools, ToolRegistry):
            raise AgentConfigError(
                f"tools must be a ToolRegistry, not {self.tools!r:.200}: "
                "pass ToolRegistry(first_tool, second_tool)"
            )

    def _require_keyring(self, name: str) -> None:
        value = getattr(self, name)
        if isinstance(value, str) and not value.startswith(("env:", "file:")):
            # The value may be key material given by mistake: it is not quoted.
            raise AgentConfigError(f"{name} must be 'env:VAR', 'file:/path' or a callable")
        if not isinstance(value, str):
            self._require_callable(name, "pass a reference or a function")
