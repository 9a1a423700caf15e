"""`goodput export`: published numbers to what people watch anyway: a store of metrics, and its dashboards."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from goodput.ask.database import published
from goodput.ask.when import instant
from goodput.cli.options import Config, LakeRoot
from goodput.errors import ExportFailed, LakeUnwritable, OutputUnwritable, UsageError
from goodput.plumbing.files import write_atomically
from goodput.settings.load import load_settings
from goodput.settings.secret import Secret
from goodput.settings.telemetry import Export, is_endpoint

app = typer.Typer(add_completion=False)

_LONGEST_S = 3600.0  # of a command, which somebody watches and can interrupt


@app.callback()
def export() -> None:
    """Hand the published numbers to what people watch: OTLP, Prometheus, Grafana.

    Example:
      goodput export prometheus --textfile /var/lib/node_exporter/goodput.prom
      goodput export dashboards monitoring
    """


@app.command("prometheus")
def prometheus(
    textfile: Annotated[
        Path | None,
        typer.Option("--textfile", metavar="FILE", help="Where it goes, as a whole; without it to the terminal."),
    ] = None,
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """Write the newest whole window of each length and the state, in the text format that Prometheus reads.

    Example: goodput export prometheus --textfile /var/lib/node_exporter/goodput.prom
    """
    from goodput.export.exposition import exposition  # noqa: PLC0415  (help must not wait for it)

    with published(config, lake) as connection:
        text = exposition(connection)
    if textfile is None:
        typer.echo(text, nl=False)
        return
    _write(textfile, text)


@app.command("otlp")
def otlp(
    endpoint: Annotated[
        str | None,
        typer.Option("--endpoint", metavar="URL", help="Instead of that of the settings; /v1/metrics follows."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Windows that ended after this time (UTC), however long ago."),
    ] = None,
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """Send the windows that the receiver does not have yet, each at its own time, and the state as it is.

    The token of the settings goes to their own endpoint alone; OTEL_EXPORTER_OTLP_HEADERS is for others.

    Example: goodput export otlp --endpoint http://collector:4318 --since 2026-11-01
    """
    from goodput.export.push import export as send  # noqa: PLC0415  (slow to import)

    settings = load_settings(config, lake=lake)
    if endpoint is not None:
        settings = settings.model_copy(update={"export": _to(endpoint)})
    if settings.export.endpoint is None:
        raise UsageError("no endpoint is named: give --endpoint URL, or [export] endpoint in goodput.toml.")
    begin = instant("--since", since) if since else datetime.now(UTC) - timedelta(seconds=settings.export.lookback_s)
    with published(config, lake) as connection:
        pushed = send(settings, connection, begin, _LONGEST_S)
    if pushed.problem:
        raise ExportFailed(pushed.problem, pushed.windows, pushed.left)
    typer.echo(f"{pushed.windows} window(s) sent, and the state as it is")
    if pushed.rejected:
        typer.echo(f"The receiver left out {pushed.rejected} point(s) of them: its log says which and why", err=True)


@app.command("dashboards")
def dashboards(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the files go; it is made if need be.")],
) -> None:
    """Write a dashboard for Grafana, and recording and alerting rules for Prometheus, of the metrics that are exported.

    Example: goodput export dashboards monitoring
    """
    from goodput.export.dashboards import dashboard_json  # noqa: PLC0415  (an extra of the package)
    from goodput.export.rules import alerting_rules, recording_rules  # noqa: PLC0415

    files = {
        "goodput-dashboard.json": dashboard_json(),
        "goodput-recording-rules.yml": recording_rules(),
        "goodput-alerting-rules.yml": alerting_rules(),
    }
    for name, text in files.items():
        _write(folder / name, text)
        typer.echo(str(folder / name))


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a collector may read it at any time. Raises OutputUnwritable."""
    try:
        write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))
    except LakeUnwritable as error:
        cause = error.__cause__
        raise OutputUnwritable(path, cause if isinstance(cause, OSError) else OSError(str(error))) from cause


def _to(url: str) -> Export:
    """An endpoint of the command line, which the token of the settings is not for."""
    if not is_endpoint(url):
        raise UsageError(f"--endpoint {url!r} is no address of a collector; right would be http://collector:4318.")
    return Export(endpoint=Secret(clear=url))
