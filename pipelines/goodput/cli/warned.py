"""Printing of relation `warnings`: a line for each kind, the gravest first, and how to see all."""

from collections import Counter
from collections.abc import Collection

import duckdb
from rich.console import Console

from goodput.ask.database import rows
from goodput.plumbing.sql_files import sql_file

LINES_SHOWN = 8
OF_FILES = ("file_without_rows", "record_ahead", "replica_apart", "replica_doubled", "replica_name_shared")
OF_LABELS = ("evaluator_never_judged", "label_unjoined")  # why labels that came may judge nothing
_SEVERITIES = ("high", "medium", "low")
_EXISTS = "FROM information_schema.tables WHERE table_schema = 'main' AND table_name = 'warnings'"
_ALL = 'goodput query "from warnings"'


def print_warnings(out: Console, connection: duckdb.DuckDBPyConnection, kinds: Collection[str] = ()) -> None:
    """Print the warnings of some kinds, or of all; nothing where there are none, or where an older run published."""
    if not rows(connection, _EXISTS):
        return
    found = [row for row in rows(connection, sql_file("warned_kinds").text) if not kinds or row["kind"] in kinds]
    if not found:
        return
    counted = sum((Counter({severity: row[severity] for severity in _SEVERITIES}) for row in found), Counter())
    numbers = ", ".join(f"{counted[severity]} {severity}" for severity in _SEVERITIES if counted[severity])
    out.print(f"Warnings: {numbers}; {_ALL} has each with its counts")
    for row in found[:LINES_SHOWN]:
        more = f" ({row['subjects'] - 1} more of this kind)" if row["subjects"] > 1 else ""
        out.print(f"- {row['severity']}: {row['message']}{more}")
    if len(found) > LINES_SHOWN:
        out.print(f"- {len(found) - LINES_SHOWN} more kind(s)")
