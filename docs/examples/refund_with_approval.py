"""A large refund asks a person first: limit, request, decision, grant, refund.

A pipeline and an effector run on one embedded bus. Refunds up to a limit are
performed at once. For a larger one the agent asks; the effector passes the request
on; a person looks at the exact arguments and signs a decision, here by the command
line `beam-agents-effector approvals`; the agent passes the grant on with its intent,
and the effector performs exactly what was shown, once.

All of it is in one file to be read in one go. In production the tools have a module
of their own, which an effector host imports without Beam.

Run it:  python docs/examples/refund_with_approval.py
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import apache_beam as beam

from beam_agents import ActivationContext, AgentConfig, ApprovalDenied, Complete, Suspend
from beam_agents._protos import Completion
from beam_agents.embedded import EmbeddedBus
from beam_agents.io import AgentLoop, LocalLoopRunner, ReadEvents, WriteCompletions
from beam_agents.tools import IntentInfo, ToolRegistry, tool

LIMIT_CENTS = 10_000
HOUR_MS = 3_600_000
PATIENCE_S = 90

# The approvers' keyring: made up for this run, and known to pipeline and effector. With
# `ed25519-public:` entries neither could sign a decision of its own.
APPROVERS = f"ann={base64.b64encode(os.urandom(32)).decode()}"

T = TypeVar("T")


# region: tools
@tool(
    name="payments.refund",
    side_effect=True,
    requires_approval=lambda amount_cents: amount_cents > LIMIT_CENTS,
)
def refund(order: str, amount_cents: int, *, intent: IntentInfo) -> dict[str, object]:
    """Give an order's money back.

    Args:
        order: The order.
        amount_cents: How much to give back.
    """
    with Path(os.environ["REFUNDS"]).open("a") as books:
        books.write(json.dumps([intent.intent_id, order, amount_cents]) + "\n")
    return {"refunded": amount_cents}


TOOLS = ToolRegistry(refund)
# endregion: tools


# region: agent
async def on_chargeback(ctx: ActivationContext) -> Complete | Suspend:
    """Refund a chargeback, with a person's approval where it is large."""
    asked = ctx.snapshot if ctx.is_resume else ctx.event
    args = json.loads(asked)
    if not ctx.is_resume and args["amount_cents"] > LIMIT_CENTS:
        ctx.request_approval(refund, args, summary=f"A large refund for {args['order']}")
        return Suspend(asked, adapter="approval", timeout_ms=HOUR_MS)
    if not ctx.is_resume:
        ctx.act(refund, args)
        return Suspend(asked, adapter="refund", timeout_ms=HOUR_MS)
    if ctx.adapter == "approval":
        try:
            ctx.act(refund, args, approval=ctx.grant())
        except ApprovalDenied as denial:
            return Complete(f"{args['order']}: denied, {denial.reason}".encode())
        return Suspend(asked, adapter="refund", timeout_ms=HOUR_MS)
    return Complete(f"{args['order']}: {json.dumps(ctx.value())}".encode())


# endregion: agent


def build(pipeline: beam.Pipeline, bus: str) -> None:
    """Close the loop; requests and decisions share a topic."""
    chargebacks = pipeline | ReadEvents(f"{bus}?topic=chargebacks", key=lambda record: record.key)
    refunds = chargebacks.envelopes | AgentLoop(
        on_chargeback,
        AgentConfig(tools=TOOLS, approval_keys="env:APPROVERS"),
        results_from=f"{bus}?topic=results",
        decisions_from=f"{bus}?topic=approvals",
        intents_to=f"{bus}?topic=intents",
        errors_to=f"{bus}?topic=errors",
    )
    refunds.completions | WriteCompletions(f"{bus}?topic=completions")


@contextmanager
def running_effector(bus: str) -> Iterator[None]:
    """Start an effector on the bus, and stop it at the end."""
    command = ["--registry", "refund_with_approval:TOOLS", "--dedup", "memory://"]
    for option, topic in [
        ("--intents-from", "intents"),
        ("--results-to", "results"),
        ("--approvals-to", "approvals"),
    ]:
        command += [option, f"{bus}?topic={topic}"]
    effector = subprocess.Popen(
        [sys.executable, "-m", "beam_agents.effector", *command, "--log-level", "warning"],
        env={**os.environ, "EFFECTOR_APPROVAL_KEYS": "env:APPROVERS"},
    )
    try:
        yield
    finally:
        effector.terminate()
        effector.wait()


def at_the_desk(bus: str, *arguments: str) -> str:
    """Use the command line, as a person would who decides."""
    desk = ["approvals", *arguments, "--approvals-to", f"{bus}?topic=approvals"]
    desk += ["--approval-keys", "env:APPROVERS"]
    return subprocess.run(
        [sys.executable, "-m", "beam_agents.effector", *desk],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ).stdout


def wait_for(look: Callable[[], T | None]) -> T:
    """Look until there is something to see."""
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        seen = look()
        if seen is not None:
            return seen
        time.sleep(0.1)
    raise TimeoutError(f"waited for {PATIENCE_S} s")


def open_requests(bus: str, count: int) -> dict[str, str] | None:
    """Map the orders that wait for a person to their requests, once there are so many."""
    lines = [json.loads(line) for line in at_the_desk(bus, "ls", "--json").splitlines()]
    waiting = {json.loads(each["args_json"])["order"]: each["intent_id"] for each in lines}
    return waiting if len(waiting) == count else None


def outputs(bus: EmbeddedBus, count: int) -> set[str] | None:
    """Return what the agent completed with, once it has so often."""
    records = bus.records("completions")
    found = {Completion.FromString(each.value or b"").output.decode() for each in records}
    return found if len(found) == count else None


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    books = folder / "refunds.jsonl"
    os.environ |= {
        "APPROVERS": APPROVERS,
        "REFUNDS": str(books),
        "PYTHONPATH": str(Path(__file__).parent),  # where the effector finds this module
    }
    uri = f"sqlite:///{folder / 'bus.db'}"
    bus = EmbeddedBus(folder / "bus.db")
    for order, amount_cents in [("small", 4_200), ("large", 420_000), ("odd", 990_000)]:
        event = json.dumps({"order": order, "amount_cents": amount_cents}).encode()
        bus.publish("chargebacks", key=order.encode(), value=event)

    pipeline = beam.Pipeline(runner=LocalLoopRunner(state=folder / "states.db"))
    build(pipeline, uri)
    running = pipeline.run()
    with running_effector(uri):
        waiting = wait_for(lambda: open_requests(uri, 2))
        at_the_desk(uri, "approve", waiting["large"], "--sign-with", "ann", "--yes")
        reason = ("--reason", "no such order")
        at_the_desk(uri, "deny", waiting["odd"], *reason, "--sign-with", "ann", "--yes")
        told = wait_for(lambda: outputs(bus, 3))
    running.cancel()

    assert told == {
        'small: {"refunded": 4200}',
        'large: {"refunded": 420000}',
        "odd: denied, no such order",
    }
    refunded = [json.loads(line)[1] for line in books.read_text().splitlines()]
    assert sorted(refunded) == ["large", "small"]
    print("refund_with_approval: ok")


if __name__ == "__main__":
    main()
