"""What a run that returned well changes: checked whole, before any of it happens."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from beam_agents._protos import Completion, ToolIntent
from beam_agents._protos.state_pb2 import Continuation
from beam_agents.core.agent import Complete, Suspend
from beam_agents.core.clock import LATEST_MS
from beam_agents.core.config import MAX_TTL_MS, AgentConfig
from beam_agents.core.continuation import open_intents
from beam_agents.core.emissions import Emission
from beam_agents.core.metrics import Metric
from beam_agents.core.run import Run

_INT64 = range(-(2**63), 2**63)


class Uncommittable(Exception):
    """The run ended in what cannot be committed: it failed.

    Attributes:
        reason: A reason of `ActivationErrorRecord`.
        detail: What is wrong, and what to do instead.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


@dataclass(slots=True)
class Commit:
    """The changes of one run.

    Attributes:
        emissions: The intents in step order, with their deadlines; then how the run ended.
        continuation: What to persist, None where the activation is over.
        memory: The key's new memory, None to leave it.
    """

    emissions: list[Emission]
    continuation: Continuation | None
    memory: bytes | None


def completed(run: Run, outcome: Complete, config: AgentConfig) -> Commit:
    """Turn `Complete` into its changes, or raise `Uncommittable`."""
    _require_bytes("output", outcome.output)
    _require_bytes("memory", outcome.memory)
    emissions = _leaving(run.intents, run.now_ms + config.intent_ttl_ms)
    if outcome.output is not None:
        emissions.append(outcome.output)
    completion = Completion(
        entity_key=run.key,
        seq=run.seq,
        event_time_ms=run.event_time_ms,
        output=outcome.output or b"",
        namespace=run.namespace,
    )
    emissions += (completion, Metric.COMPLETIONS)
    return Commit(emissions, None, outcome.memory)


def suspended(run: Run, outcome: Suspend, config: AgentConfig) -> Commit:
    """Turn `Suspend` into its changes, or raise `Uncommittable`."""
    _check_suspend(outcome, run.now_ms, config)
    deadline_ms = run.now_ms + outcome.timeout_ms
    intents = open_intents(run)
    awaited = _awaited(outcome, intents.keys())
    for intent_id, intent in intents.items():
        intent.awaited = intent_id in awaited
    continuation = Continuation(
        seq=run.seq,
        origin_digest=run.origin_digest,
        next_step=run.next_step,
        model_calls=run.model_calls,
        snapshot=outcome.snapshot,
        adapter=outcome.adapter,
        snapshot_version=outcome.version,
        deadline_ms=deadline_ms,
        wait_for_any=outcome.wait_for == "any",
        intents=intents.values(),
    )
    emissions = _leaving(run.intents, min(deadline_ms, run.now_ms + MAX_TTL_MS))
    emissions.append(Metric.SUSPENSIONS)
    return Commit(emissions, continuation, outcome.memory)


def _leaving(staged: list[ToolIntent], default_expiry_ms: int) -> list[Emission]:
    """Give each intent its expiry, and count it."""
    emissions: list[Emission] = []
    for intent in staged:
        if not intent.expires_at_ms:
            intent.expires_at_ms = default_expiry_ms
        emissions += (intent, Metric.INTENTS)
    return emissions


def _awaited(outcome: Suspend, unanswered: Set[str]) -> Set[str]:
    awaited = unanswered if outcome.await_ids is None else set(outcome.await_ids)
    if not awaited:
        raise Uncommittable(
            "invalid_return",
            "Suspend has nothing to wait for: stage an intent first, or return Complete",
        )
    if unknown := sorted(map(repr, awaited - unanswered)):
        raise Uncommittable(
            "invalid_return",
            f"Suspend(await_ids=) names {', '.join(unknown)}, no unanswered intents of this "
            "activation: use the ids that ctx.act returned",
        )
    return awaited


def _check_suspend(outcome: Suspend, now_ms: int, config: AgentConfig) -> None:
    if not isinstance(outcome.snapshot, bytes):
        raise _invalid(f"Suspend(snapshot=) must be bytes, not {outcome.snapshot!r:.200}")
    _require_bytes("memory", outcome.memory)
    if not isinstance(outcome.adapter, str):
        raise _invalid(f"Suspend(adapter=) must be a str, not {outcome.adapter!r:.200}")
    if not _is_utf8(outcome.adapter):
        raise _invalid(f"Suspend(adapter=) has a lone surrogate: {outcome.adapter!r:.200}")
    timeout_ms = outcome.timeout_ms
    if type(timeout_ms) is not int or not 0 < timeout_ms <= LATEST_MS - now_ms:
        raise _invalid(f"Suspend(timeout_ms=) must be a positive int, not {timeout_ms!r:.200}")
    if outcome.wait_for not in ("all", "any"):
        raise _invalid(f"Suspend(wait_for=) must be 'all' or 'any', not {outcome.wait_for!r:.200}")
    if type(outcome.version) is not int or outcome.version not in _INT64:
        raise _invalid(f"Suspend(version=) must be an int, not {outcome.version!r:.200}")
    if isinstance(outcome.await_ids, (str, bytes)):
        raise _invalid("Suspend(await_ids=) must be a collection of ids, not one id")
    if len(outcome.snapshot) > config.max_snapshot_bytes:
        raise Uncommittable(
            "state_too_large",
            f"the snapshot has {len(outcome.snapshot)} bytes, the limit is "
            f"{config.max_snapshot_bytes}: keep a reference in it, or raise "
            "AgentConfig(max_snapshot_bytes=)",
        )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _require_bytes(name: str, value: object) -> None:
    if value is not None and not isinstance(value, bytes):
        raise _invalid(f"{name} must be bytes or None, not {value!r:.200}")


def _invalid(detail: str) -> Uncommittable:
    return Uncommittable("invalid_return", detail)
