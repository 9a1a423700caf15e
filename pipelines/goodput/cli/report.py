"""`goodput report`: one page of charts that answers what people ask first, or the same in a few lines."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from goodput.ask.database import published
from goodput.ask.when import instant
from goodput.cli.options import Config, LakeRoot
from goodput.errors import UsageError

REPORT = "report.html"


class ReportFormat(StrEnum):
    """How a report is written."""

    html = "html"
    md = "md"


def report(  # noqa: PLR0913, PLR0917  (typer makes an option of each)
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Only windows from this time on (UTC).")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Only windows that end by then.")] = None,
    workload: Annotated[str | None, typer.Option("--workload", help="Only this workload.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Only this model.")] = None,
    pool: Annotated[str | None, typer.Option("--pool", help="Only this pool.")] = None,
    route: Annotated[
        str | None, typer.Option("--route", help="Only this route, of the workload that is named.")
    ] = None,
    tenant: Annotated[
        str | None,
        typer.Option(
            "--tenant", help="Only this tenant; `slices.by` must list tenant, or workload_tenant beside --workload."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where it goes; without it report.html, or for md the terminal."
        ),
    ] = None,
    format: Annotated[
        ReportFormat | None, typer.Option("--format", help="Without it: as the name of --output ends, else html.")
    ] = None,
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """Write a page that shows what share was accepted, how sure, what it cost, and where the rest went.

    One file that opens offline: period, workload, model, pool, route and tenant can be chosen in it. --format md is a
    short summary for chat or a pull request.

    Example:
      goodput report -o report.html
      goodput report --since 2026-11-01 --workload chat --format md
    """
    from goodput.report.write import replace_page, write_report  # noqa: PLC0415  (help must not wait for it)

    begin, end = _bound("--since", since), _bound("--until", until)
    if begin is not None and end is not None and end <= begin:
        raise UsageError(f"--until {until} is not after --since {since}: nothing lies between.")
    asked = {"workload": workload, "model": model, "pool": pool, "route": route, "tenant": tenant}
    written = format or _by_name(output)
    with published(config, lake) as connection:
        text = write_report(connection, (begin, end), asked, written.value, datetime.now(UTC))
    if written is ReportFormat.md and output is None:
        typer.echo(text)
        return
    path = output or Path(REPORT)
    replace_page(path, text)
    typer.echo(f"{path}: {len(text.encode()) / 1e6:.1f} MB, opens in any browser")


def _bound(option: str, text: str | None) -> datetime | None:
    return None if text is None else instant(option, text)


def _by_name(output: Path | None) -> ReportFormat:
    return ReportFormat.md if output is not None and output.suffix in {".md", ".markdown"} else ReportFormat.html
