"""`beam-agents-effector dead-letters`: its command line."""

from __future__ import annotations

from typing import Annotated

import typer

dead_letters_app = typer.Typer(rich_markup_mode=None, add_completion=False)

_DeadLettersTo = Annotated[
    str | None,
    typer.Option(
        metavar="URI",
        help="Where the effector puts them. [EFFECTOR_DEAD_LETTERS_TO]",
        show_default=False,
    ),
]
_Reason = Annotated[
    str | None,
    typer.Option(metavar="REASON", help="Only those, such as forged.", show_default=False),
]


@dead_letters_app.callback()
def _dead_letters() -> None:
    """List what could not be handled, or put it back."""


@dead_letters_app.command("ls")
def _list(
    dead_letters_to: _DeadLettersTo = None,
    reason: _Reason = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, with the bytes.")
    ] = False,
) -> None:
    """List the dead letters, the oldest first: place, reason, and where each came from."""
    from beam_agents.effector.commands.dead_letters import list_letters

    raise typer.Exit(list_letters(dead_letters_to, reason=reason, as_json=as_json))


@dead_letters_app.command("redrive")
def _redrive(
    places: Annotated[
        list[str] | None, typer.Argument(metavar="PLACE...", show_default=False)
    ] = None,
    dead_letters_to: _DeadLettersTo = None,
    intents_from: Annotated[
        str | None,
        typer.Option(
            metavar="URI", help="Where to put them. [EFFECTOR_INTENTS_FROM]", show_default=False
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All of them, or all of one reason.")
    ] = False,
    reason: _Reason = None,
) -> None:
    """Publish dead letters to the intents topic once more, each as it was received.

    For when the cause is gone, such as a key that was missing. What has been performed
    since is recognised by its intent id. The dead letters stay where they are.

    Exits with 0 once all are durable, 3 if a place holds no dead letter, 2 for a
    mistake, 1 if a server does not answer.
    """
    from beam_agents.effector.commands.dead_letters import redrive

    raise typer.Exit(
        redrive(dead_letters_to, intents_from, places or [], everything=everything, reason=reason)
    )
