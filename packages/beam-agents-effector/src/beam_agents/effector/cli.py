"""`beam-agents-effector`: the command line, made of the settings model.

Importing this module, and answering `--help`, loads neither pydantic nor any client
library; what a command does is imported when it runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from beam_agents.effector.approvals_cli import approvals_app
from beam_agents.effector.audit_cli import audit_command
from beam_agents.effector.dead_letters_cli import dead_letters_app
from beam_agents.effector.options import Setting
from beam_agents.effector.settings import SETTINGS

PROGRAM = "beam-agents-effector"

_HELP = """Perform what Beam agents ask for: one claim and one terminal result per intent.

Every option is also an environment variable, named in brackets; the option wins.
A secret may also be the content of the file that its variable with _FILE names.

\b
URIs of topics, with their parameters:
  kafka://host:9092,host2:9092/topic?group=NAME&session_timeout_ms=MS
  pubsub://project/subscription?lease_ms=MS
  pubsub://project/topic, where it is written to
  sqlite:///file.db?topic=NAME&group=NAME&lease_ms=MS

\b
URIs of dedup stores:
  redis://host:6379/0?cluster=true&wait_replicas=N, or rediss:// for TLS
  bigtable://project/instance/table?app_profile=NAME
  sqlite:///file.db for the processes of one host, memory:// for tests
"""


def main() -> None:
    """Run the command line of this process."""
    app(prog_name=PROGRAM)


class GroupedHelp(TyperGroup):
    """A command, with others below it, whose `--help` has a heading for each group of settings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write each group; then what the environment alone can give; then the rest."""
        shown = {param.name: param.get_help_record(ctx) for param in self.get_params(ctx)}
        for heading, settings in groupby(SETTINGS, lambda setting: setting.option.group):
            with formatter.section(heading):
                formatter.write_dl(
                    [shown.pop(setting.name, None) or _row(setting) for setting in settings]
                )
        with formatter.section("Other"):
            formatter.write_dl([row for row in shown.values() if row is not None])
        self.format_commands(ctx, formatter)


def _row(setting: Setting) -> tuple[str, str]:
    """Describe a setting that has no option."""
    default = f" [default: {setting.default}]" if isinstance(setting.default, str) else ""
    return setting.variable, setting.option.help + default


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"{PROGRAM} {version(PROGRAM)}")
        raise typer.Exit


def _parameters() -> Iterator[inspect.Parameter]:
    yield inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    for setting in SETTINGS:
        if not setting.option.env_only:
            yield _parameter(setting.name, bool if setting.is_switch else str, _declared(setting))
    version = typer.Option(
        "--version", help="Show the version and exit.", callback=_print_version, is_eager=True
    )
    yield _parameter("version", bool, version)


def _declared(setting: Setting) -> Any:
    # Texts, whatever their type: the settings model judges all of them at once.
    notes = "; required" if setting.required else ""
    if setting.default and not setting.required:
        notes = f"; default: {setting.default}"
    return typer.Option(
        setting.flag,
        metavar=setting.option.metavar or None,
        help=f"{setting.option.help} [{setting.variable}{notes}]",
        show_default=False,
    )


def _parameter(name: str, kind: type, declared: Any) -> inspect.Parameter:
    optional: Any = kind | None
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[optional, declared],
    )


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the settings model, in the way that typer reads them."""
    parameters = list(_parameters())
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.callback(cls=GroupedHelp, help=_HELP, invoke_without_command=True)
@_with_options
def _run(context: typer.Context, version: bool | None = None, **given: str | bool | None) -> None:
    if context.invoked_subcommand is not None:
        context.obj = given
        return
    from beam_agents.effector.commands.run import run

    raise typer.Exit(run(given))


@app.command("inspect")
def _inspect(
    intent_id: Annotated[str, typer.Argument(metavar="INTENT_ID", show_default=False)],
    dedup: Annotated[
        str | None,
        typer.Option(metavar="URI", help="The store. [EFFECTOR_DEDUP]", show_default=False),
    ] = None,
) -> None:
    """Tell what the dedup store knows of an intent.

    Exits with 0 if it knows it, 3 if not, 1 if it does not answer.
    """
    from beam_agents.effector.commands.inspect import inspect

    raise typer.Exit(inspect(intent_id, dedup))


@app.command("doctor")
def _doctor(context: typer.Context) -> None:
    """Check settings and servers; perform nothing.

    Takes the effector's own options and variables: write the options before `doctor`.
    Exits with 0 if all is well, 2 for a mistake, 1 if a server cannot be used.
    """
    from beam_agents.effector.commands.doctor import examine

    raise typer.Exit(examine(context.obj))


app.add_typer(approvals_app, name="approvals")
app.add_typer(dead_letters_app, name="dead-letters")
app.command("audit")(audit_command)
