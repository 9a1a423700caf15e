"""The partitions that are blocked, as `goodput sources` and `goodput run` list them."""

from typing import TYPE_CHECKING

from rich.console import Console

from goodput.ask.database import Row, rows
from goodput.cli.render import table

if TYPE_CHECKING:
    import duckdb

SHOWN = 20

_EXISTS = "FROM information_schema.tables WHERE table_schema = 'main' AND table_name = 'blocked_partitions'"
# Those that failed come before those that wait for them.
_BLOCKED = """
    SELECT table_name, partition, since, reason FROM blocked_partitions
    ORDER BY blocked_by IS NOT NULL, since, table_name, partition
"""
_HEADER = ("table", "partition", "since", "reason")


def count_blocked(connection: "duckdb.DuckDBPyConnection") -> int:
    """How many partitions are blocked, those that wait for others among them."""
    return len(_blocked(connection))


def print_blocked(out: Console, connection: "duckdb.DuckDBPyConnection") -> int:
    """Print the blocked partitions, if there are any, and return their number."""
    blocked = _blocked(connection)
    if not blocked:
        return 0
    first = f', the first {SHOWN}; goodput query "from blocked_partitions" lists all' if len(blocked) > SHOWN else ""
    out.print(f"Blocked partitions: {len(blocked)}{first}")
    out.print()
    out.print(table(_HEADER, [tuple(row.values()) for row in blocked[:SHOWN]], out.width))
    return len(blocked)


def _blocked(connection: "duckdb.DuckDBPyConnection") -> list[Row]:
    return rows(connection, _BLOCKED) if rows(connection, _EXISTS) else []
