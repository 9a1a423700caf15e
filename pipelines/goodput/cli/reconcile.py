"""`goodput reconcile`: every dollar of the bills, in which bucket it is, or why in none.

See docs/semantics.md#reconciliation.
"""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Annotated

import duckdb
import typer
from rich.console import Console

from goodput.ask.database import published
from goodput.ask.when import instant
from goodput.cli.blocked import count_blocked, print_blocked
from goodput.cli.options import Config, LakeRoot
from goodput.cli.render import console, table, until_reader_leaves
from goodput.cli.warned import print_warnings
from goodput.errors import SourcesFailed, UsageError
from goodput.plumbing.sql_files import MACROS, compute, sql_file

_WARNED = ("bill_apart", "bill_displaced", "bill_undated", "cost_line_quarantined", "cost_repeated")
_NEGLIGIBLE_USD = 0.005  # less than half a cent is shown as none
_BY_DAY = "SELECT * EXCLUDE (part, source, basis) FROM reconciled WHERE part = 'day' ORDER BY day"
_BY_SOURCE = "SELECT * EXCLUDE (part, day) FROM reconciled WHERE part <> 'day' ORDER BY part, source, basis"


def reconcile(
    since: Annotated[str | None, typer.Option("--since", metavar="DAY", help="No day before (UTC).")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DAY", help="Only days before (UTC).")] = None,
    by_day: Annotated[bool, typer.Option("--by-day", help="A line for each day instead of each source.")] = False,
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """Reconcile bills with what is published: in which bucket every billed dollar is, or why in none.

    billed = counted + displaced + outside: what use cost (the effective cost of a bill), not what was invoiced. Days
    before the first with telemetry and after the last are outside. What a better basis displaces is not counted twice:
    bills come before allocations, these before rate cards. The exit code is 1 where partitions are blocked: what waits
    for them is as it was, or missing.

    Example:
      goodput reconcile
      goodput reconcile --since 2026-11-01 --until 2026-12-01 --by-day
    """
    span = {"reconciled_from": _day("--since", since), "reconciled_until": _day("--until", until)}
    with until_reader_leaves(), published(config, lake) as connection:
        connection.execute(sql_file(MACROS).text)
        for name, value in span.items():
            connection.execute(f"SET VARIABLE {name} = $value", {"value": value})
        out = console()
        for relation in ("reconciled_days", "reconciled"):
            compute(connection, relation)
        if _print(out, connection, _BY_DAY if by_day else _BY_SOURCE, total=not by_day):
            _print_counted(out, connection)
        else:
            _print_nothing(out, connection, is_bounded=bool(since or until))
        blocked = print_blocked(out, connection)
    if blocked:
        raise SourcesFailed([], blocked)


def _print_counted(out: Console, connection: duckdb.DuckDBPyConnection) -> None:
    out.print()
    out.print(
        "What counts, by bucket of the ledger (relation reconciliation has them by day and source). Unlabelled is "
        "what answers cost that nobody judged: `goodput report` divides it as those that were."
    )
    _print(out, connection, sql_file("reconciled_buckets").text)
    for relation in ("invoiced", "unused_costs"):
        _print_lines(out, _lines(connection, relation))
    print_warnings(out, connection, _WARNED)


def _print_nothing(out: Console, connection: duckdb.DuckDBPyConnection, *, is_bounded: bool) -> None:
    unused = _lines(connection, "unused_costs")
    what = "line of a bill that counts" if unused else "bill"
    if count_blocked(connection):
        out.print("Nothing is reconciled yet, as partitions are blocked.")
    else:
        out.print(f"No {what} covers these days." if is_bounded else f"No {what} has been read.")
    _print_lines(out, unused)
    print_warnings(out, connection, (*_WARNED, "setting_unmatched"))


def _lines(connection: duckdb.DuckDBPyConnection, relation: str) -> list[str]:
    return [line for (line,) in connection.execute(sql_file(relation).text).fetchall()]


def _print_lines(out: Console, lines: Iterable[str]) -> None:
    for line in lines:
        out.print(line)


def _print(out: Console, connection: duckdb.DuckDBPyConnection, asked: str, *, total: bool = False) -> bool:
    found = connection.execute(asked)
    names = [column[0].replace("_", " ") for column in found.description]
    rows = [tuple(_dollars(cell) if isinstance(cell, float) else cell for cell in row) for row in found.fetchall()]
    if rows:
        out.print(table(names, rows, out.width, total=total))
    return bool(rows)


def _dollars(usd: float) -> Decimal:
    return Decimal(f"{usd if abs(usd) >= _NEGLIGIBLE_USD else 0:.2f}")


def _day(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    at = instant(option, text)
    if at != at.replace(hour=0, minute=0, second=0, microsecond=0):
        raise UsageError(f"{option} {text}: no day. Right would be 2026-11-20.")
    return at
