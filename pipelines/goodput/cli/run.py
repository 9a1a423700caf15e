"""`goodput run`: ingest what is new, recompute what is stale, publish."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from goodput.ask.when import instant
from goodput.cli.headline import print_headline
from goodput.cli.progress import on_terminal
from goodput.errors import GoodputError, PartitionsBlocked, RunCrashed, SourcesFailed, UsageError
from goodput.plumbing import interrupt
from goodput.plumbing.lake import Lake
from goodput.plumbing.workspace import Workspace

if TYPE_CHECKING:
    from goodput.run import Ran


def run_command(  # noqa: PLR0913, PLR0917  (typer makes an option of each)
    config: Annotated[Path | None, typer.Option(help="Settings file; ./goodput.toml where it exists.")] = None,
    landing: Annotated[
        list[Path] | None, typer.Option(help="Landing file or folder instead of the settings' own.")
    ] = None,
    lake: Annotated[Path | None, typer.Option(help="Lake folder instead of the settings' own.")] = None,
    since: Annotated[str | None, typer.Option(help="Compute every hour from this time (UTC, ISO 8601) again.")] = None,
    until: Annotated[str | None, typer.Option(help="... up to this time; both go together.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Processes that compute, instead of the settings' own.")
    ] = None,
) -> None:
    """Ingest what is new, recompute what is stale, publish. Safe to run again at any time.

    Example: goodput run --config goodput.toml
    """
    span = _span(since, until)
    console = Console(stderr=True)
    with on_terminal(console) as progress:
        workspace = Workspace(config, tuple(landing or ()), lake, progress, workers=workers)
        workspace.settings  # noqa: B018  (bad settings are reported before the slow imports)
        from goodput.renaming import renamed_line  # noqa: PLC0415  (slow to import; only this command needs them)
        from goodput.run import run  # noqa: PLC0415

        with ended_plainly(workspace.lake):
            try:
                ran = run(workspace, *span)
            except PartitionsBlocked:
                print_headline(config, lake)  # all else is published
                raise
    found = ran.ingested
    console.print(
        f"{found.read} source(s) read, {found.unchanged} unchanged, {found.refused} refused; "
        f"{ran.hours_computed} hour(s) computed; published {workspace.lake.database}"
    )
    if ran.renamed:
        console.print(renamed_line(workspace.settings, ran.renamed))
    for damage in ran.remade:
        console.print(f"Made again: {damage.part.path}, which {damage.reason}")
    if ran.undelivered:
        console.print(f"Alarms are not delivered: {ran.undelivered}\n`goodput notify --status` lists what waits.")
    if ran.unexported:
        console.print(f"Metrics are not exported: {ran.unexported}", markup=False)
    _print_remedy(console, workspace, ran)
    print_headline(config, lake)
    if (page := workspace.settings.report_path) is not None:
        _write_page(console, config, lake, page)
    if found.failed:
        raise SourcesFailed(found.failed)


def _write_page(console: Console, config: Path | None, lake: Path | None, page: Path) -> None:
    """A page that cannot be written costs no run: what it shows is published."""
    from goodput.report.write import write_page  # noqa: PLC0415  (only where the settings ask for it)

    try:
        write_page(config, lake, page)
    except (GoodputError, OSError) as error:
        console.print(f"The report is not written: {error}", markup=False)
    else:
        console.print(f"Report: {page}", markup=False)


def _print_remedy(console: Console, workspace: Workspace, ran: "Ran") -> None:
    found = ran.ingested
    if found.moved:
        console.print(f"{found.moved} file(s) changed while they were read: the next run reads them.")
    elif not (found.read or found.unchanged or found.refused):
        looked = ", ".join(workspace.settings.landing_names)
        remedy = "let telemetry be written there, or name the right folder under `landing` in goodput.toml or --landing"
        console.print(f"No file lies in {looked}: {remedy}.")
    if found.refused or found.rows_quarantined:
        console.print(
            f"{found.rows_quarantined} row(s) in quarantine; `goodput sources --problems` has all that went wrong."
        )


@contextmanager
def ended_plainly(lake: Lake) -> Iterator[None]:
    """Say in a few lines how a run ended that was interrupted, or met an error that nobody foresaw.

    Raises RunCrashed in the place of such an error, whose traceback then is in the lake.
    """
    interrupt.say("Interrupted. What was finished is kept: another run goes on from there.")
    try:
        yield
    except GoodputError:
        raise
    except BaseException as error:  # a panic in Rust is no Exception
        interrupt.check(error)
        raise RunCrashed(_step(error), error, _keep_traceback(lake, error)) from error


def _step(error: BaseException) -> str:
    """The stage and the function in which it happened."""
    frames = ((Path(frame.filename), frame.name) for frame in traceback.extract_tb(error.__traceback__))
    stages = [f"{file.parent.name} ({name})" for file, name in frames if file.parent.parent.name == "goodput"]
    return stages[-1] if stages else "no step of its own"


def _keep_traceback(lake: Lake, error: BaseException) -> str:
    whole = "".join(traceback.format_exception(error))
    path = lake.root / "traceback.txt"
    try:
        path.write_text(whole, encoding="utf-8")
    except OSError:
        return f":\n{whole}"
    return f" in {path}."


def _span(since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    if (since is None) != (until is None):
        raise UsageError("--since and --until go together: give both, or neither.")
    if since is None or until is None:
        return None, None
    first, last = instant("--since", since), instant("--until", until)
    if first >= last:
        raise UsageError(f"--since {since} is not before --until {until}.")
    return first, last
