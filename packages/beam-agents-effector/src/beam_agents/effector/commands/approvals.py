"""Lists what agents ask people for, and publishes what a person decides."""

from __future__ import annotations

import asyncio
import getpass
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from beam_agents._protos import AgentEnvelope
from beam_agents.effector.approval_requests import ApprovalDesk, ApprovalRequest, Trust
from beam_agents.effector.clock import SystemClock
from beam_agents.effector.commands.connecting import (
    NOT_THERE,
    answering,
    complain,
    connections,
    given_or_set,
    read_optional,
)
from beam_agents.effector.errors import OperatorError
from beam_agents.effector.printable import printable, printable_key
from beam_agents.effector.schemes import open_browser, open_sink
from beam_agents.intents.decisions import DecisionError, build_decision
from beam_agents.intents.keyring import Keyring
from beam_agents.intents.signing import Signer
from beam_agents.intents.topics import type_header


@dataclass(frozen=True, slots=True)
class Desk:
    """Where requests come from and decisions go, as the command line gives it.

    Attributes:
        requests: The topic of requests; by default EFFECTOR_APPROVALS_TO.
        decisions: The topic of decisions; by default the same.
        intent_keys: A reference to the keyring that verifies requests.
        approval_keys: A reference to the keyring of decisions; by default
            EFFECTOR_APPROVAL_KEYS.
    """

    requests: str | None = None
    decisions: str | None = None
    intent_keys: str | None = None
    approval_keys: str | None = None


def list_requests(desk: Desk, *, everything: bool, as_json: bool) -> int:
    """Print the open requests, the oldest first; or all, with what became of them."""

    def command() -> int:
        found, unverified = asyncio.run(_read(desk))
        now_ms = SystemClock().now_ms()
        shown = [each for each in found if everything or each.state(now_ms) == "open"]
        if as_json:
            for each in shown:
                print(json.dumps(_as_json(each, now_ms)))  # noqa: T201
        else:
            for each in shown:
                print(_in_words(each, now_ms), end="\n\n")  # noqa: T201
        what = "requests" if everything else "open requests"
        notes = f", {unverified} records that do not verify were left out" if unverified else ""
        return complain(f"{len(shown)} {what}{notes}", 0)

    return answering(command)


def decide(
    desk: Desk,
    intent_id: str,
    *,
    approved: bool,
    approver: str | None,
    reason: str,
    sign_with: str | None,
    confirm: Callable[[str], bool],
) -> int:
    """Publish a person's decision on a request, once the person has seen what it asks for.

    Returns:
        0 once the decision is durable, 3 where there is no such open request, or the
        person changes their mind.
    """

    def command() -> int:
        keys = read_optional("approval_keys", desk.approval_keys)
        if (sign_with is None) != (keys is None):
            raise OperatorError("a signed decision needs both --approval-keys and --sign-with")
        signer = None if keys is None or sign_with is None else Signer(keys, sign_with)
        found, _ = asyncio.run(_read(desk))
        request = next((each for each in found if each.intent.intent_id == intent_id), None)
        if request is None:
            return complain(f"no request {intent_id!r} is in the topic", NOT_THERE)
        now_ms = SystemClock().now_ms()
        if request.decision is not None:
            return complain(f"{intent_id!r} is decided: {_state(request, now_ms)}", NOT_THERE)
        if not confirm(_in_words(request, now_ms)):
            return complain("nothing was decided", NOT_THERE)
        try:
            decision = build_decision(
                request.intent,
                approved=approved,
                approver=approver or getpass.getuser(),
                decided_at_ms=SystemClock().now_ms(),
                reason=reason,
                signer=signer,
            )
        except DecisionError as error:
            return complain(str(error), NOT_THERE)
        asyncio.run(_publish(_decisions_uri(desk), decision))
        verdict = "approved" if approved else "denied"
        return complain(f"{verdict} {intent_id!r} as {decision.approval.approver!r}", 0)

    return answering(command)


async def _read(desk: Desk) -> tuple[list[ApprovalRequest], int]:
    intent_keys, approval_keys = (
        desk.intent_keys,
        read_optional("approval_keys", desk.approval_keys),
    )
    found = ApprovalDesk(
        Trust(
            Keyring.load(intent_keys) if intent_keys else None,
            Keyring.load(approval_keys) if approval_keys else None,
        )
    )
    for uri in dict.fromkeys([_requests_uri(desk), _decisions_uri(desk)]):
        topic = open_browser(uri, connections())
        try:
            await topic.open()
            await found.read(topic)
        finally:
            await topic.aclose()
    return found.requests(), found.unverified


async def _publish(uri: str, decision: AgentEnvelope) -> None:
    sink = open_sink(uri, connections())
    try:
        await sink.open()
        await sink.publish(
            key=decision.entity_key,
            value=decision.SerializeToString(deterministic=True),
            headers=(type_header(AgentEnvelope),),
        )
    finally:
        await sink.aclose()


def _requests_uri(desk: Desk) -> str:
    return given_or_set("approvals_to", desk.requests)


def _decisions_uri(desk: Desk) -> str:
    return desk.decisions or _requests_uri(desk)


def _in_words(request: ApprovalRequest, now_ms: int) -> str:
    return "\n".join(f"{name:<12} {text}" for name, text in _lines(request, now_ms))


def _lines(request: ApprovalRequest, now_ms: int) -> Iterator[tuple[str, str]]:
    intent = request.intent
    yield "request", printable(intent.intent_id)
    yield "state", _state(request, now_ms)
    if intent.namespace:
        yield "namespace", printable(intent.namespace)
    yield "key", printable_key(intent.entity_key)
    if intent.summary:
        yield "summary", printable(intent.summary)
    yield "tool", printable(intent.tool_name)
    yield "arguments", printable(intent.args_json)


def _state(request: ApprovalRequest, now_ms: int) -> str:
    state, decision = request.state(now_ms), request.decision
    if decision is not None:
        reason = f": {printable(decision.reason)}" if decision.reason else ""
        by = printable(decision.approver) or "nobody named"
        return f"{state} by {by} at {_time(decision.decided_at_ms)}{reason}"
    until = _time(request.intent.expires_at_ms)
    if state == "expired":
        return f"expired at {until}"
    left = timedelta(seconds=(request.intent.expires_at_ms - now_ms) // 1000)
    return f"open for {left} more, until {until}"


def _time(ms: int) -> str:
    try:
        return f"{datetime.fromtimestamp(ms // 1000, tz=timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"


def _as_json(request: ApprovalRequest, now_ms: int) -> dict[str, object]:
    intent, decision = request.intent, request.decision
    return {
        "intent_id": intent.intent_id,
        "state": request.state(now_ms),
        "namespace": intent.namespace,
        "entity_key": printable_key(intent.entity_key),
        "tool_name": intent.tool_name,
        "args_json": intent.args_json,
        "summary": intent.summary,
        "created_at_ms": intent.created_at_ms,
        "expires_at_ms": intent.expires_at_ms,
        "approver": None if decision is None else decision.approver,
        "decided_at_ms": None if decision is None else decision.decided_at_ms,
        "reason": None if decision is None else decision.reason,
    }
