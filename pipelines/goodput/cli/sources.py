"""`goodput sources`: the ledger, what became of every row of every source file (identity R).

See docs/semantics.md#sources.
"""

from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import duckdb
import typer
from rich.console import Console

from goodput.ask.database import published, rows
from goodput.ask.formats import batches, destination, write_csv, write_json
from goodput.cli.blocked import count_blocked, print_blocked
from goodput.cli.ledger_lines import FILES_SHOWN, Grouped, print_files, print_groups
from goodput.cli.options import Config, LakeRoot
from goodput.cli.render import console, table, until_reader_leaves
from goodput.cli.warned import OF_FILES, print_warnings
from goodput.errors import LandingMissing, SourcesFailed
from goodput.plumbing.sql_files import sql_file

if TYPE_CHECKING:
    from goodput.settings.model import Settings

QUARANTINED_SHOWN = 20
UNUSED_SHOWN = 20

_LEDGER = """
    SELECT *, CASE
        WHEN rows_read = rows_kept + rows_duplicate + rows_quarantined + rows_ignored THEN 'ok'
        WHEN is_pending THEN 'pending'
        ELSE 'BROKEN' END AS identity_r
    FROM sources
    WHERE (NOT $problems OR identity_r = 'BROKEN' OR status = 'refused' OR reason IS NOT NULL
        OR rows_quarantined > 0 OR torn_tail_bytes > 0)
        AND ($match IS NULL OR path GLOB $match) AND ($reader IS NULL OR reader = $reader)
"""
_QUARANTINED = """
    SELECT path || ':' || line || if(position > 0, ' #' || position, '') AS place, rule, reason, excerpt
    FROM quarantine
    ORDER BY path, line, position
    LIMIT $shown
"""
_UNKNOWN = "SELECT metric, readings, sources FROM unknown_metrics ORDER BY readings DESC, metric"
_UNJOINED = """
    SELECT evaluator, subject_kind AS names, reason, count(*) AS labels
    FROM unjoined_labels
    GROUP BY ALL
    ORDER BY labels DESC, evaluator, names, reason
"""
_READERS = "SELECT DISTINCT reader FROM sources ORDER BY reader"
_EXISTS = "FROM information_schema.tables WHERE table_schema = 'main' AND table_name = $relation"  # older databases


class LedgerFormat(StrEnum):
    """How the ledger is written."""

    table = "table"
    csv = "csv"
    json = "json"


def sources(  # noqa: PLR0913, PLR0917  (typer makes an option of each)
    config: Config = None,
    lake: LakeRoot = None,
    format: Annotated[
        LedgerFormat, typer.Option("--format", help="csv and json hold every column of the ledger.")
    ] = LedgerFormat.table,
    problems: Annotated[
        bool,
        typer.Option(
            "--problems", help="Only files that are refused, cut, torn, or have quarantined rows, and those rows."
        ),
    ] = False,
    match: Annotated[
        str | None,
        typer.Option("--match", metavar="GLOB", help="Only files whose path below the landing zone matches."),
    ] = None,
    reader: Annotated[str | None, typer.Option("--reader", help="Only files that this reader read.")] = None,
    by: Annotated[
        Grouped | None,
        typer.Option(
            "--by", help=f"A line for each; without it file, and reader where there are over {FILES_SHOWN} files."
        ),
    ] = None,
) -> None:
    """Account for every row of every source file: read = kept + duplicate + quarantined + ignored.

    Column R is `ok` where that holds, BROKEN where it does not, and `pending` where hours of the file are not computed
    yet. Below stand, if there are any, metrics that no dialect knows, blocked partitions, and warnings about files and
    replicas; with --problems labels that judge no request too. With --problems the exit code is 1 where a partition
    is blocked, or a file is refused, was not read to its end, is BROKEN, or has a larger share of its rows in
    quarantine than `limits.quarantined_ratio`.

    Example:
      goodput sources
      goodput sources --problems
      goodput sources --match 'gateway/*' --by folder
    """
    asked = {"problems": problems, "match": match, "reader": reader}
    with until_reader_leaves(), published(config, lake) as connection:
        connection.execute(f"CREATE TEMP TABLE ledger AS {_LEDGER}", asked)
        if format is not LedgerFormat.table:
            _write(connection, format)
        else:
            _print(connection, problems, by, is_chosen=match is not None or reader is not None)
        failed = _failed(connection, config, lake, is_listed=format is LedgerFormat.table) if problems else []
        blocked = count_blocked(connection) if problems else 0
    if failed or blocked:
        raise SourcesFailed([(path, wrong) for path, _, wrong in failed], blocked)


def _failed(
    connection: duckdb.DuckDBPyConnection, config: Path | None, lake: Path | None, *, is_listed: bool
) -> list[tuple[str, str, str]]:
    """Sources with which something is wrong by the settings; before, if `is_listed`, what no source was made of."""
    from goodput.settings.load import load_settings  # noqa: PLC0415  (takes longer than the rest of the ledger)

    settings = load_settings(config, lake=lake)
    if is_listed:
        _print_left_alone(console(), settings)
    connection.execute("SET VARIABLE quarantined_ratio = $1", [settings.limits.quarantined_ratio])
    return connection.execute(sql_file("failed_sources").text).fetchall()


def _print(connection: duckdb.DuckDBPyConnection, problems: bool, by: Grouped | None, *, is_chosen: bool) -> None:
    out = console()
    count = len(connection.table("ledger"))
    if not count and is_chosen:
        readers = ", ".join(row["reader"] for row in rows(connection, _READERS))
        out.print(f"No source file {'with a problem ' if problems else ''}matches. Readers are: {readers or 'none'}.")
    elif (by or (Grouped.reader if count > FILES_SHOWN else Grouped.file)) is Grouped.file:
        print_files(out, connection, problems=problems)
    else:
        print_groups(out, connection, by or Grouped.reader)
    if problems:
        _print_quarantined(out, connection)
        _print_unused(out, connection, "Labels that judge no request", "unjoined_labels", _UNJOINED)
    _print_unused(out, connection, "Metrics that no dialect knows", "unknown_metrics", _UNKNOWN)
    print_blocked(out, connection)
    print_warnings(out, connection, OF_FILES)


def _print_left_alone(out: Console, settings: "Settings") -> None:
    from goodput.collect.listing import list_folders  # noqa: PLC0415  (slow to import)

    with suppress(LandingMissing):  # the lake may be looked at where no telemetry lies
        if left_alone := list_folders(settings).about_left_alone():
            out.print(left_alone, markup=False)


def _write(connection: duckdb.DuckDBPyConnection, written: LedgerFormat) -> None:
    columns: list[Any] = list(connection.execute("FROM ledger ORDER BY landing, path, source_id").description)
    names = [column[0] for column in columns]
    with destination(None) as stream:
        if written is LedgerFormat.csv:
            write_csv(names, [column[1].id for column in columns], batches(connection), stream)
        else:
            write_json(names, batches(connection), stream)


def _print_unused(out: Console, connection: duckdb.DuckDBPyConnection, title: str, relation: str, asked: str) -> None:
    try:
        found = rows(connection, asked) if rows(connection, _EXISTS, {"relation": relation}) else []
    except duckdb.Error as error:  # it lies over parts of the lake, of which one may be what is wrong
        out.print(f"{title}: unknown, as {str(error).splitlines()[0]}. `goodput verify` looks at all parts.")
        return
    if not found:
        return
    out.print()
    out.print(f"{title}:")
    out.print(table(tuple(found[0]), [tuple(row.values()) for row in found[:UNUSED_SHOWN]], out.width))
    if len(found) > UNUSED_SHOWN:
        out.print(f'All of them: goodput query "from {relation}" --format csv')


def _print_quarantined(out: Console, connection: duckdb.DuckDBPyConnection) -> None:
    count = len(connection.table("quarantine"))
    if not count:
        return
    found = rows(connection, _QUARANTINED, {"shown": QUARANTINED_SHOWN})
    first = f", the first {QUARANTINED_SHOWN}" if count > QUARANTINED_SHOWN else ""
    out.print(f"Quarantined rows: {count}{first}")
    out.print()
    names = ("file:line", "rule", "reason", "row as received")
    out.print(table(names, [tuple(row.values()) for row in found], out.width))
    if count > QUARANTINED_SHOWN:
        out.print('All of them: goodput query "from quarantine" --format csv')
