"""`goodput sources`: the ledger, what became of every row of every source file (identity R).

See docs/semantics.md#sources.
"""

import json
from enum import StrEnum
from typing import Annotated, Any

import duckdb
import typer
from rich.console import Console

from goodput.cli.blocked import print_blocked
from goodput.cli.database import Config, LakeRoot, Row, published, rows
from goodput.cli.formats import batches, destination, write_csv, write_json
from goodput.cli.render import console, table, until_reader_leaves
from goodput.cli.warned import OF_FILES, print_warnings
from goodput.errors import SourcesFailed
from goodput.plumbing.sql_files import sql_file
from goodput.settings.load import load_settings

FILES_SHOWN = 200  # laying out more takes longer than finding them
QUARANTINED_SHOWN = 20
UNUSED_SHOWN = 20

_LEDGER = """
    SELECT *, CASE
        WHEN rows_read = rows_kept + rows_duplicate + rows_quarantined + rows_ignored THEN 'ok'
        WHEN is_pending THEN 'pending'
        ELSE 'BROKEN' END AS identity_r
    FROM sources
    WHERE NOT $problems OR identity_r = 'BROKEN' OR status = 'refused' OR reason IS NOT NULL
        OR rows_quarantined > 0 OR torn_tail_bytes > 0
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
_EXISTS = "FROM information_schema.tables WHERE table_schema = 'main' AND table_name = $relation"  # older databases
_TOTALS = """
    SELECT count(*) AS files, count(DISTINCT landing) AS landings,
        count(*) FILTER (WHERE identity_r = 'BROKEN') AS broken,
        count(*) FILTER (WHERE identity_r = 'pending') AS pending,
        bool_or(contains(ignored, $unread)) AS unread,
        sum(rows_read), sum(rows_kept), sum(rows_duplicate), sum(rows_quarantined), sum(rows_ignored)
    FROM ledger
"""
_COUNTS = ("rows_read", "rows_kept", "rows_duplicate", "rows_quarantined", "rows_ignored")
_UNREAD = '"span_looks_like_call:'  # as `collect.unread` counts them
_HEADER = ("file", "reader", "read", "kept", "duplicate", "quarantined", "ignored", "R", "remarks")


class LedgerFormat(StrEnum):
    """How the ledger is written."""

    table = "table"
    csv = "csv"
    json = "json"


def sources(
    config: Config = None,
    lake: LakeRoot = None,
    format: Annotated[
        LedgerFormat, typer.Option("--format", help="csv and json hold every column of the ledger.")
    ] = LedgerFormat.table,
    problems: Annotated[
        bool,
        typer.Option("--problems", help="Only files that are refused, torn, or have quarantined rows, and those rows."),
    ] = False,
) -> None:
    """Account for every row of every source file: read = kept + duplicate + quarantined + ignored.

    Column R is `ok` where that holds, BROKEN where it does not, and `pending` where hours of the file are not computed
    yet. Below stand, if there are any, metrics that no dialect knows, blocked partitions, and warnings about files and
    replicas; with --problems labels that judge no request too. With --problems the exit code is 1 where a file is
    refused, is BROKEN, or has a larger share of its rows in quarantine than `limits.quarantined_ratio`.

    Example:
      goodput sources
      goodput sources --problems
    """
    quarantined_ratio = load_settings(config, lake=lake).limits.quarantined_ratio
    with until_reader_leaves(), published(config, lake) as connection:
        connection.execute(f"CREATE TEMP TABLE ledger AS {_LEDGER}", {"problems": problems})
        if format is not LedgerFormat.table:
            _write(connection, format)
        else:
            _print(connection, problems)
        connection.execute("SET VARIABLE quarantined_ratio = $1", [quarantined_ratio])
        failed = connection.execute(sql_file("failed_sources").text).fetchall() if problems else []
    if failed:
        raise SourcesFailed([(path, wrong) for path, _, wrong in failed])


def _print(connection: duckdb.DuckDBPyConnection, problems: bool) -> None:
    out = console()
    _print_ledger(out, connection, problems)
    if problems:
        _print_quarantined(out, connection)
        _print_unused(out, connection, "Labels that judge no request", "unjoined_labels", _UNJOINED)
    _print_unused(out, connection, "Metrics that no dialect knows", "unknown_metrics", _UNKNOWN)
    print_blocked(out, connection)
    print_warnings(out, connection, OF_FILES)


def _write(connection: duckdb.DuckDBPyConnection, written: LedgerFormat) -> None:
    columns: list[Any] = list(connection.execute("FROM ledger ORDER BY landing, path, source_id").description)
    names = [column[0] for column in columns]
    with destination(None) as stream:
        if written is LedgerFormat.csv:
            write_csv(names, [column[1].id for column in columns], batches(connection), stream)
        else:
            write_json(names, batches(connection), stream)


def _place(source: Row) -> str:
    """Landing path and the path below it; a landing path that is the file itself has nothing below."""
    landing, path = source["landing"], source["path"]
    return landing if landing.rpartition("/")[2] == path else f"{landing}/{path}"


def _print_ledger(out: Console, connection: duckdb.DuckDBPyConnection, problems: bool) -> None:
    ((count, landings, broken, pending, unread, *totals),) = connection.execute(_TOTALS, {"unread": _UNREAD}).fetchall()
    if not count:
        out.print("No source file has a problem." if problems else "No source file has been read.")
        return
    lines = [
        (
            _place(f) if landings > 1 else f["path"],
            f["reader"],
            *(f[count] for count in _COUNTS),
            f["identity_r"],
            remarks(f),
        )
        for f in rows(connection, "FROM ledger ORDER BY landing, path, source_id LIMIT $shown", {"shown": FILES_SHOWN})
    ]
    files = f"{count} file{'' if count == 1 else 's'}"
    held = f"{broken} BROKEN" if broken else f"{pending} pending" if pending else "ok"
    lines.append((files, "", *totals, held, ""))
    out.print(table(_HEADER, lines, out.width, total=True))
    if unread:
        out.print("Some spans look like calls and are not read: goodput connect FILE shows their attributes.")
    if count > FILES_SHOWN:
        out.print(f"Only the first {FILES_SHOWN} files are shown; the totals are of all. --format csv has every one.")


def remarks(source: Row) -> str:
    """Why a file was refused or stopped short, its unfinished tail, and how many rows each rule ignored."""
    ignored: dict[str, int] = json.loads(source["ignored"])
    found = [text for text in (source["reason"],) if text]
    if source["status"] == "refused":
        found = [": ".join(["refused", *found])]
    if source["torn_tail_bytes"]:
        found.append(f"unfinished tail of {source['torn_tail_bytes']} bytes")
    found += [f"{rule}: {count}" for rule, count in sorted(ignored.items()) if count]
    return "; ".join(found)


def _print_unused(out: Console, connection: duckdb.DuckDBPyConnection, title: str, relation: str, asked: str) -> None:
    found = rows(connection, asked) if rows(connection, _EXISTS, {"relation": relation}) else []
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
