"""The command `goodput`: which commands there are, and how any of them ends.

A command is a function of its own module, which is imported only when that command is asked for: a question
never waits for what a run needs, and the list of commands waits for none of them.
"""

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from goodput.errors import GoodputError
from goodput.plumbing import interrupt

# Where each command is, and its sentence in the list of commands, which is shown without importing any of them.
COMMANDS = {
    "init": ("goodput.cli.init:init", "Write a goodput.toml with every setting explained and its default shown."),
    "connect": (
        "goodput.cli.connect:connect",
        "Look at telemetry before any settings exist: who emits, which facts are there, what stays NULL and why.",
    ),
    "receive": (
        "goodput.cli.receive:receive",
        "Receive traces, logs and metrics (OTLP, HTTP or gRPC) and write them to the landing zone until interrupted.",
    ),
    "run": ("goodput.cli.run:run_command", "Ingest what is new, recompute what is stale, publish."),
    "rebuild": (
        "goodput.cli.rebuild:rebuild",
        "Make a lake of an older version, or a damaged one, anew from the landing files; alarms, deliveries are kept.",
    ),
    "verify": (
        "goodput.cli.verify:verify",
        "Compare every part of the lake with the checksum that was taken when it was written.",
    ),
    "forget": (
        "goodput.cli.forget:forget",
        "Take back source files that should not have been read: their rows leave the lake.",
    ),
    "erase": (
        "goodput.cli.erase:erase_command",
        "Erase tenants, users or sessions: their rows stay, and are nobody's any more.",
    ),
    "prune": (
        "goodput.cli.prune:prune_command",
        "Delete rows that the settings keep no longer; what was measured from them stays as it is.",
    ),
    "doctor": (
        "goodput.cli.doctor:doctor",
        "Look over installation, settings, landing zone, lake and deliveries, and say what to do.",
    ),
    "demo": (
        "goodput.cli.demo:demo",
        "Simulate a day of an LLM fleet, write its telemetry and bills, run the pipeline on them and show the result.",
    ),
    "replay": (
        "goodput.cli.replay:replay",
        "Replay a trace of prompts through simulated fleets: cache hit ratio by routing policy and number of replicas.",
    ),
    "query": ("goodput.cli.query:query", "Ask the published database a question in SQL; nothing can be changed."),
    "tables": (
        "goodput.cli.tables:tables",
        "List what can be asked: tables, views and functions, or the columns of one with types, units and meanings.",
    ),
    "compare": (
        "goodput.cli.compare:compare",
        "Set two sides against each other: throughput, goodput, cost, latencies, and the tails where they differ.",
    ),
    "report": (
        "goodput.cli.report:report",
        "Write a page that shows what share was accepted, how sure, what it cost, and where the rest went.",
    ),
    "export": (
        "goodput.cli.export:app",
        "Hand the published numbers to what people watch: OTLP, Prometheus, Grafana.",
    ),
    "mcp": (
        "goodput.cli.mcp:mcp",
        "Let a language model ask the published database: the Model Context Protocol over standard input and output.",
    ),
    "serve": (
        "goodput.cli.serve:serve",
        "Serve the report as a live page until interrupted, with the requests behind its windows and each alarm.",
    ),
    "reconcile": (
        "goodput.cli.reconcile:reconcile",
        "Reconcile bills with what is published: in which bucket every billed dollar is, or why in none.",
    ),
    "explain": (
        "goodput.cli.explain:explain",
        "Say why a request was or was not accepted: every gate, attempt, label, and where each fact came from.",
    ),
    "sources": (
        "goodput.cli.sources:sources",
        "Account for every row of every source file: read = kept + duplicate + quarantined + ignored.",
    ),
    "labels": ("goodput.cli.labels:app", "Plan which requests to judge, so that labels are a sample by design."),
    "alarms": (
        "goodput.cli.alarms:app",
        "List alarms, explain one, replay what they can see; silence one, or accept a shift as the new normal.",
    ),
    "federate": (
        "goodput.cli.federate:federate_command",
        "Put what several lakes have published into one database: the rows of each, and the windows of all.",
    ),
    "notify": ("goodput.cli.notify:notify", "Deliver alarms to the channels of the settings."),
}


class _Imported(Mapping[str, TyperCommand | TyperGroup]):
    """The commands by name, each imported when it is looked up."""

    def __getitem__(self, name: str) -> TyperCommand | TyperGroup:
        module, _, function = COMMANDS[name][0].partition(":")
        found = getattr(import_module(module), function)
        if isinstance(found, typer.Typer):  # a command with commands of its own
            alone = found
        else:
            alone = typer.Typer(add_completion=False)
            alone.command(name)(found)
        command = get_command(alone)
        assert isinstance(command, TyperCommand | TyperGroup)  # noqa: S101
        command.name = name
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Commands(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Imported()  # type: ignore[assignment]  # nothing is ever added to it

    def get_help(self, ctx: Any) -> str:
        """The help, which lists each command by its sentence alone."""
        self.commands = {name: TyperCommand(name, help=sentence) for name, (_, sentence) in COMMANDS.items()}
        return super().get_help(ctx)


app = typer.Typer(
    cls=_Commands,
    invoke_without_command=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415  (slow, and nothing else needs it)

        typer.echo(f"goodput {version('goodput')}")
        raise typer.Exit


@app.callback()
def goodput(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """What an LLM serving fleet really delivered: accepted requests and tokens, from the telemetry it emits.

    Example:
      goodput init && goodput run
      goodput query "from requests limit 5"

    Without a command, where settings or a lake are in this folder: how things stand, and what to do next.

    Exit codes: 0 done; 1 a run, a check or a question failed; 2 bad usage or settings; 130 interrupted.
    """
    if context.invoked_subcommand is None:
        _print_state_or_help(context)


def _print_state_or_help(context: typer.Context) -> None:
    from datetime import UTC, datetime  # noqa: PLC0415  (the list of commands waits for nothing)

    from goodput.cli.state import is_here, print_state  # noqa: PLC0415

    if not is_here():
        typer.echo(context.get_help())
        raise typer.Exit(2)
    print_state(datetime.now(UTC))


def main() -> None:
    """Run the command line: errors of the project's own family become a plain message and their exit code.

    Ctrl-C always ends it with 130 and one line, whatever was made of it on the way here.
    """
    interrupt.watch()
    try:
        app(prog_name="goodput")
    except BaseException as ended:
        if interrupt.is_behind(ended):
            interrupt.end()
        if not isinstance(ended, GoodputError):
            raise
        typer.echo(str(ended), err=True)
        sys.exit(ended.exit_code)
