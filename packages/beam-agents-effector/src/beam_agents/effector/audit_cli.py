"""`beam-agents-effector audit`: its command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_Intents = Annotated[
    str | None,
    typer.Option(metavar="URI", help="Intents. [EFFECTOR_INTENTS_FROM]", show_default=False),
]
_Results = Annotated[
    str | None,
    typer.Option(metavar="URI", help="Results. [EFFECTOR_RESULTS_TO]", show_default=False),
]
_DeadLetters = Annotated[
    str | None,
    typer.Option(
        metavar="URI", help="Dead letters. [EFFECTOR_DEAD_LETTERS_TO]", show_default=False
    ),
]
_Approvals = Annotated[
    str | None,
    typer.Option(
        metavar="URI", help="Approval requests. [EFFECTOR_APPROVALS_TO]", show_default=False
    ),
]
_Registry = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:NAME",
        help="Says which tools require an approval. [EFFECTOR_REGISTRY]",
        show_default=False,
    ),
]
_ApprovalKeys = Annotated[
    str | None,
    typer.Option(
        metavar="env:VAR|file:PATH",
        help="Verifies the approvals. [EFFECTOR_APPROVAL_KEYS]",
        show_default=False,
    ),
]
_Ledger = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A JSON object a line for each call of a tool, in order: intent_id, attempt, "
        "at_ms, and the worker.",
        show_default=False,
    ),
]
_Faults = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A JSON object a line for each worker that was killed, stopped or cut off: "
        "worker, from_ms, to_ms. With it, whatever ran again must be explained.",
        show_default=False,
    ),
]
_Tolerance = Annotated[
    int,
    typer.Option(
        "--clock-tolerance-ms", metavar="MS", min=0, help="How far workers' clocks may be apart."
    ),
]
_Settled = Annotated[
    bool, typer.Option("--settled", help="Whatever has no answer by now is lost, not open.")
]
_Limit = Annotated[
    int, typer.Option(metavar="N", min=1, help="How many violations of each kind to show.")
]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]


def audit_command(
    intents_from: _Intents = None,
    results_to: _Results = None,
    dead_letters_to: _DeadLetters = None,
    approvals_to: _Approvals = None,
    registry: _Registry = None,
    approval_keys: _ApprovalKeys = None,
    ledger: _Ledger = None,
    faults: _Faults = None,
    clock_tolerance_ms: _Tolerance = 5_000,
    settled: _Settled = False,
    limit: _Limit = 20,
    as_json: _Json = False,
) -> None:
    """Judge topics and ledgers against the guarantees.

    Topics are read whole, from their beginnings; they must reach back equally far.
    Exits with 0 if what can be judged holds, 3 if a guarantee was not kept, 2 for a
    mistake, 1 if a server does not answer.
    """
    from beam_agents.effector.commands.audit import Question, run_audit

    question = Question(
        intents=intents_from,
        results=results_to,
        dead_letters=dead_letters_to,
        approvals=approvals_to,
        registry=registry,
        approval_keys=approval_keys,
        ledger=ledger,
        faults=faults,
        tolerance_ms=clock_tolerance_ms,
        settled=settled,
    )
    raise typer.Exit(run_audit(question, as_json=as_json, limit=limit))
