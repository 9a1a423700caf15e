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
from goodput.cli.render import MAX_ROWS, console, table, until_reader_leaves

QUARANTINED_SHOWN = 20
UNUSED_SHOWN = 20

_LEDGER = """
    SELECT *, CASE WHEN rows_read = rows_kept + rows_duplicate + rows_quarantined + rows_ignored
        THEN 'ok' ELSE 'BROKEN' END AS identity_r
    FROM sources
    WHERE NOT $problems OR identity_r <> 'ok' OR status = 'refused' OR reason IS NOT NULL
        OR rows_quarantined > 0 OR torn_tail_bytes > 0
    ORDER BY landing, path, source_id
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

    Column R is `ok` where that holds and BROKEN where it does not. Below stand, if there are any, metrics that no
    dialect knows and partitions that are blocked; with --problems labels that judge no request too.

    Example:
      goodput sources
      goodput sources --problems
    """
    with until_reader_leaves(), published(config, lake) as connection:
        if format is not LedgerFormat.table:
            _write(connection, format, problems)
            return
        out = console()
        _print_ledger(out, rows(connection, _LEDGER, {"problems": problems}), problems)
        if problems:
            _print_quarantined(out, connection)
            _print_unused(out, connection, "Labels that judge no request", "unjoined_labels", _UNJOINED)
        _print_unused(out, connection, "Metrics that no dialect knows", "unknown_metrics", _UNKNOWN)
        print_blocked(out, connection)


def _write(connection: duckdb.DuckDBPyConnection, written: LedgerFormat, problems: bool) -> None:
    columns: list[Any] = list(connection.execute(_LEDGER, {"problems": problems}).description)
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


def _print_ledger(out: Console, ledger: list[Row], problems: bool) -> None:
    if not ledger:
        out.print("No source file has a problem." if problems else "No source file has been read.")
        return
    of_several = len({f["landing"] for f in ledger}) > 1
    lines = [
        (
            _place(f) if of_several else f["path"],
            f["reader"],
            *(f[count] for count in _COUNTS),
            f["identity_r"],
            remarks(f),
        )
        for f in ledger[:MAX_ROWS]
    ]
    broken = sum(f["identity_r"] != "ok" for f in ledger)
    totals = [sum(f[count] for f in ledger) for count in _COUNTS]
    files = f"{len(ledger)} file{'' if len(ledger) == 1 else 's'}"
    lines.append((files, "", *totals, f"{broken} BROKEN" if broken else "ok", ""))
    out.print(table(_HEADER, lines, out.width, total=True))
    if any(_UNREAD in f["ignored"] for f in ledger):
        out.print("Some spans look like calls and are not read: goodput connect FILE shows their attributes.")
    if len(ledger) > MAX_ROWS:
        out.print(f"Only the first {MAX_ROWS} files are shown; the totals are of all. --format csv has every one.")


def remarks(source: Row) -> str:
    """Why a file was refused or stopped short, its unfinished tail, and how many rows each rule left out."""
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
