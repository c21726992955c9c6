"""`beam-agents-effector approvals`: the command line on which a person decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from beam_agents.effector.commands.approvals import Desk

approvals_app = typer.Typer(rich_markup_mode=None, add_completion=False)

_IntentId = Annotated[str, typer.Argument(metavar="INTENT_ID", show_default=False)]
_ApprovalsTo = Annotated[
    str | None,
    typer.Option(
        metavar="URI",
        help="Where the effector puts requests. [EFFECTOR_APPROVALS_TO]",
        show_default=False,
    ),
]
_Decisions = Annotated[
    str | None,
    typer.Option(
        metavar="URI", help="The topic of decisions, if it is another.", show_default=False
    ),
]
_IntentKeys = Annotated[
    str | None,
    typer.Option(
        metavar="env:VAR|file:PATH",
        help="The keyring for intents: leaves out requests that it does not verify.",
        show_default=False,
    ),
]
_ApprovalKeys = Annotated[
    str | None,
    typer.Option(
        metavar="env:VAR|file:PATH",
        help="The keyring for approvals. [EFFECTOR_APPROVAL_KEYS]",
        show_default=False,
    ),
]
_SignWith = Annotated[
    str | None,
    typer.Option(
        metavar="KEY_ID",
        help="Sign with this key of the keyring for approvals.",
        show_default=False,
    ),
]
_Approver = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Who decides; by default the login.", show_default=False),
]
_Yes = Annotated[bool, typer.Option("--yes", help="Do not ask again.")]


@approvals_app.callback()
def _approvals() -> None:
    """List what agents ask people for, approve or deny it."""


@approvals_app.command("ls")
def _list(
    approvals_to: _ApprovalsTo = None,
    decisions: _Decisions = None,
    intent_keys: _IntentKeys = None,
    approval_keys: _ApprovalKeys = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what is decided or expired.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List the requests that wait for a person, the oldest first."""
    from beam_agents.effector.commands.approvals import list_requests

    desk = _desk(approvals_to, decisions, intent_keys, approval_keys)
    raise typer.Exit(list_requests(desk, everything=everything, as_json=as_json))


@approvals_app.command("approve")
def _approve(
    intent_id: _IntentId,
    approvals_to: _ApprovalsTo = None,
    decisions: _Decisions = None,
    intent_keys: _IntentKeys = None,
    approval_keys: _ApprovalKeys = None,
    sign_with: _SignWith = None,
    approver: _Approver = None,
    yes: _Yes = False,
) -> None:
    """Allow exactly what a request shows, once, for as long as the request was open."""
    from beam_agents.effector.commands.approvals import decide

    raise typer.Exit(
        decide(
            _desk(approvals_to, decisions, intent_keys, approval_keys),
            intent_id,
            approved=True,
            approver=approver,
            reason="",
            sign_with=sign_with,
            confirm=lambda shown: yes or _asked(shown, "Approve?"),
        )
    )


@approvals_app.command("deny")
def _deny(
    intent_id: _IntentId,
    approvals_to: _ApprovalsTo = None,
    decisions: _Decisions = None,
    intent_keys: _IntentKeys = None,
    approval_keys: _ApprovalKeys = None,
    sign_with: _SignWith = None,
    approver: _Approver = None,
    reason: Annotated[str, typer.Option(help="Told to the agent.", show_default=False)] = "",
    yes: _Yes = False,
) -> None:
    """Refuse a request; the agent is told, with the reason.

    Both commands exit with 0 once the decision is durable, 3 if there is no such
    open request, 2 for a mistake, 1 if a server does not answer.
    """
    from beam_agents.effector.commands.approvals import decide

    raise typer.Exit(
        decide(
            _desk(approvals_to, decisions, intent_keys, approval_keys),
            intent_id,
            approved=False,
            approver=approver,
            reason=reason,
            sign_with=sign_with,
            confirm=lambda shown: yes or _asked(shown, "Deny?"),
        )
    )


def _desk(
    approvals_to: str | None,
    decisions: str | None,
    intent_keys: str | None,
    approval_keys: str | None,
) -> Desk:
    from beam_agents.effector.commands.approvals import Desk

    return Desk(approvals_to, decisions, intent_keys, approval_keys)


def _asked(shown: str, question: str) -> bool:
    typer.echo(f"{shown}\n")
    return typer.confirm(question)
