"""The ledger of sources as lines of a table: each file, or each folder or reader with what its files have together."""

import json
from enum import StrEnum
from typing import Any

import duckdb
from rich.console import Console

from goodput.ask.cells import plain, shortened
from goodput.ask.database import Row, rows
from goodput.cli.render import table

FILES_SHOWN = 200  # laying out more takes longer than finding them
_FOLDER = "regexp_extract(path, '^(.*)/[^/]*$', 1)"
_GROUPED = """
    SELECT {key} AS named, count(*) AS files,
        sum(rows_read), sum(rows_kept), sum(rows_duplicate), sum(rows_quarantined), sum(rows_ignored),
        count(*) FILTER (WHERE identity_r = 'BROKEN') AS broken,
        count(*) FILTER (WHERE identity_r = 'pending') AS pending,
        count(*) FILTER (WHERE status = 'refused') AS refused
    FROM ledger
    GROUP BY named
    ORDER BY named
"""
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
_OF_GROUPS = ("files", "read", "kept", "duplicate", "quarantined", "ignored", "R", "refused")
_PLACE_CHARACTERS = 120  # one long path would make every line as wide
_HEADER = ("file", "reader", "read", "kept", "duplicate", "quarantined", "ignored", "R", "remarks")


class Grouped(StrEnum):
    """What a line of the ledger stands for."""

    file = "file"
    folder = "folder"
    reader = "reader"


def _place(source: Row) -> str:
    """Landing path and the path below it; a landing path that is the file itself has nothing below."""
    landing, path = source["landing"], source["path"]
    return landing if landing.rpartition("/")[2] == path else f"{landing}/{path}"


def print_files(out: Console, connection: duckdb.DuckDBPyConnection, *, problems: bool) -> None:
    """A line for each file of the temporary table `ledger`, and their totals."""
    ((count, landings, broken, pending, unread, *totals),) = connection.execute(_TOTALS, {"unread": _UNREAD}).fetchall()
    if not count:
        out.print("No source file has a problem." if problems else "No source file has been read.")
        return
    lines = [
        (
            shortened(plain(_place(f) if landings > 1 else f["path"]), _PLACE_CHARACTERS),
            f["reader"],
            *(f[count] for count in _COUNTS),
            f["identity_r"],
            remarks(f),
        )
        for f in rows(connection, "FROM ledger ORDER BY landing, path, source_id LIMIT $shown", {"shown": FILES_SHOWN})
    ]
    files = f"{count} file{'' if count == 1 else 's'}"
    lines.append((files, "", *totals, _held(broken, pending), ""))
    out.print(table(_HEADER, lines, out.width, total=True))
    if unread:
        out.print("Some spans look like calls and are not read: goodput connect FILE shows their attributes.")
    if count > FILES_SHOWN:
        out.print(f"Only the first {FILES_SHOWN} files are shown; the totals are of all. --format csv has every one.")


def print_groups(out: Console, connection: duckdb.DuckDBPyConnection, by: Grouped) -> None:
    """A line for each reader or folder of them."""
    key = {Grouped.reader: "reader", Grouped.folder: _FOLDER}[by]
    found = connection.execute(_GROUPED.format(key=key)).fetchall()
    sums = [sum(counts) for counts in list(zip(*found, strict=True))[1:]]
    lines = [_group_line(group) for group in (*found, ("all", *sums))]
    out.print(table((by.value, *_OF_GROUPS), lines, out.width, total=True))
    out.print("Each file: goodput sources --by file; some of them: --match GLOB, --reader NAME, --problems.")


def _group_line(group: tuple[Any, ...]) -> tuple[object, ...]:
    named, *counts, broken, pending, refused = group
    return (named or ".", *counts, _held(broken, pending), refused)


def _held(broken: int, pending: int) -> str:
    return f"{broken} BROKEN" if broken else f"{pending} pending" if pending else "ok"


def remarks(source: Row) -> str:
    """Why a file was refused or stopped short, its unfinished tail, and how many rows each rule ignored."""
    ignored: dict[str, int] = json.loads(source["ignored"])
    found = [text for text in (source["reason"],) if text]
    if source["status"] == "refused":
        found = [": ".join(["refused", *found])]
    if source.get("unread_bytes"):  # a database of an older version does not have them
        found.append(f"up to {source['unread_bytes']} bytes not read")
    if source["torn_tail_bytes"]:
        found.append(f"unfinished tail of {source['torn_tail_bytes']} bytes")
    found += [f"{rule}: {count}" for rule, count in sorted(ignored.items()) if count]
    return "; ".join(found)
