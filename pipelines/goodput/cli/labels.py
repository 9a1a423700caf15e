"""`goodput labels`: which requests to judge next, so that labels are a sample by design.

The plan itself is made in `label_plan`; asking for it and showing it belong here.
"""

from datetime import datetime, timedelta
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO

import duckdb
import typer

from goodput.ask.cells import iso, significant
from goodput.ask.database import published, rows
from goodput.ask.formats import Format, batches, destination, write_csv, write_json, write_parquet
from goodput.ask.label_plan import PlanTarget, default_period, plan
from goodput.ask.when import instant
from goodput.cli.label_lines import print_plan
from goodput.cli.options import Config, LakeRoot
from goodput.cli.render import console, until_reader_leaves
from goodput.cli.warned import OF_LABELS, print_warnings
from goodput.errors import PublishedByOlder, UsageError
from goodput.plumbing.sql_files import MACROS, sql_file
from goodput.settings.load import load_settings

app = typer.Typer(add_completion=False)

_WORKLOADS = (
    "SELECT workload, bool_or(gate = 'quality') AS has_quality FROM workloads GROUP BY workload ORDER BY workload"
)
_ENDED = "SELECT max(ended_at) AS last FROM requests WHERE verdict <> 'in_flight'"
_COLUMNS = """
    SELECT count(*) AS known FROM duckdb_columns()
    WHERE (table_name, column_name) IN (('quality_labels', 'plan_id'), ('workloads', 'sampling'))
        AND schema_name = 'main'
"""


class PlanFormat(StrEnum):
    """How a plan is shown."""

    table = "table"
    csv = "csv"
    json = "json"


@app.callback()
def labels() -> None:
    """Plan which requests to judge, so that labels are a sample by design.

    Example:
      goodput labels plan --width 0.05
      goodput labels plan --width 0.05 -o keys.csv
    """


@app.command("plan")
def plan_labels(  # noqa: PLR0913, PLR0917  (typer makes an option of each)
    width: Annotated[
        float, typer.Option("--width", metavar="RATIO", help="Wanted width of the interval, from end to end.")
    ],
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Nothing that ended before.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Nothing that ended later.")] = None,
    workload: Annotated[str | None, typer.Option("--workload", help="Only this workload.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Another seed draws others.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the keys to judge: .csv, .json or .parquet."),
    ] = None,
    config: Config = None,
    lake: LakeRoot = None,
    format: Annotated[PlanFormat, typer.Option("--format", help="Of the plan itself.")] = PlanFormat.table,
) -> None:
    """Say how many labels each stratum needs for a width of goodput_ratio's 95 % interval, and draw what to judge.

    The period is the UTC day of the last request unless it is given. What is drawn depends on the seed and on what is
    published, in no order. Labels that carry plan_id show that they came from a plan. Without -o nothing is written.

    Example:
      goodput labels plan --width 0.05 --workload chat
      goodput labels plan --width 0.05 --since 2026-11-20T09:00 --until 2026-11-20T12:00 --seed 7 -o keys.csv
    """
    if not 0 < width < 1:
        raise UsageError(
            f"--width {significant(width)}: the width of a ratio's interval lies between 0 and 1, such as 0.05."
        )
    begin, end = (
        None if text is None else instant(name, text) for name, text in (("--since", since), ("--until", until))
    )
    written = _format_of(output)
    lateness_s = load_settings(config, lake=lake).label_lateness_s
    with until_reader_leaves(), published(config, lake) as connection:
        _check(connection, workload)
        asked = PlanTarget(width, *_period(connection, begin, end), seed, workload)
        connection.execute(sql_file(MACROS).text)
        made = plan(connection, asked)
        if made is None:
            raise UsageError(
                f"From {iso(asked.since)} to {iso(asked.until)} no request{_of(workload)} ended that needs a label."
            )
        if output is not None:
            with destination(output) as stream:
                _write(connection, "drawn_keys", written, stream)
        if format is PlanFormat.table:
            print_plan(made, output, timedelta(seconds=lateness_s), console())
            if not all(row["labelled"] for row in made.provenance):
                print_warnings(console(), connection, OF_LABELS)
        else:
            with destination(None) as stream:
                _write(connection, "planned_strata", Format(format), stream)


def _of(workload: str | None) -> str:
    return "" if workload is None else f" of workload {workload}"


def _format_of(output: Path | None) -> Format:
    ending = output.suffix.removeprefix(".") if output else "csv"
    if ending not in {Format.csv, Format.json, Format.parquet}:
        raise UsageError(f"-o {output}: keys are written as .csv, .json or .parquet.")
    return Format(ending)


def _check(connection: duckdb.DuckDBPyConnection, workload: str | None) -> None:
    if rows(connection, _COLUMNS)[0]["known"] < 2:
        raise PublishedByOlder
    known = {row["workload"]: row["has_quality"] for row in rows(connection, _WORKLOADS)}
    gated = [name for name, has_quality in known.items() if has_quality]
    if not gated:
        raise UsageError(
            "No workload has a quality gate, so that no request needs a label: [workloads.NAME.quality] sets one."
        )
    if workload is None or workload in gated:
        return
    if workload in known:
        raise UsageError(
            f"workload {workload} has no quality gate: [workloads.{workload}.quality] sets one. "
            f"Those with one: {', '.join(gated)}."
        )
    near = ", ".join(get_close_matches(workload, gated, 3) or gated)
    raise UsageError(f"workload {workload}: there is none with a quality gate. Right would be: {near}.")


def _period(
    connection: duckdb.DuckDBPyConnection, since: datetime | None, until: datetime | None
) -> tuple[datetime, datetime]:
    last = rows(connection, _ENDED)[0]["last"]
    if last is None:
        raise UsageError("No request that ended was published.")
    begin, end = default_period(since, until, last)
    if end <= begin:
        raise UsageError(f"--until {iso(end)} is not after --since {iso(begin)}: nothing lies between.")
    return begin, end


def _write(connection: duckdb.DuckDBPyConnection, relation: str, written: Format, stream: BinaryIO) -> None:
    asked = connection.table(relation)
    if written is Format.parquet:
        write_parquet(asked, stream)
        return
    connection.execute(f'FROM "{relation}"')
    if written is Format.csv:
        write_csv(asked.columns, [kind.id for kind in asked.types], batches(connection), stream)
    else:
        write_json(asked.columns, batches(connection), stream)
