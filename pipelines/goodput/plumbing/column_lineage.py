"""Of which columns of other tables SQL computes each column of a table; what is not known is left out.

A column is made of those in the expression of its value: by what rows were joined, filtered or grouped is not in it.
How names are resolved is `lineage_scopes`' work.
"""

from collections.abc import Mapping, Sequence
from functools import cache, partial

from goodput.contracts import contract
from goodput.plumbing.graph import statement
from goodput.plumbing.lineage_columns import NOTHING, UNKNOWN, ColumnOrigins
from goodput.plumbing.lineage_scopes import outputs
from goodput.plumbing.node import STORED, Node
from goodput.plumbing.sql_files import sql_names

Lineage = Mapping[str, Sequence[tuple[str, str]]]  # by column: table and column, sorted

# Which hours and windows are computed now, and until when telemetry was observed: nothing of what is in it.
_ASKED = frozenset(
    {
        *("target_hours", "grains", "measured_range", "billed_days", "closed_time"),
        *("observed", "partition_size", "size_options", "window_options", "disruption_options"),
    }
)

# Percentiles of large partitions: of the same columns as the exact ones that they stand for.
_COUNTED = frozenset({"counted_quantiles", "counted_attempt_quantiles"})


def column_lineage(node: Node, table: str) -> Lineage:
    """The lineage of a table that a node makes by SQL; of one that Python makes, nothing.

    A column is left out where something of it cannot be resolved or is made by Python of rows, and where it is made of
    no column at all, as a count of rows is.
    """
    if table not in sql_names():
        return {}
    made = _made(table, _ASKED | frozenset(node.from_settings))
    found = {column.name: made.get(column.name) for column in contract(table).columns}
    return {name: sorted(deps) for name, deps in found.items() if deps and not deps & UNKNOWN}


@cache
def _made(relation: str, no_rows: frozenset[str]) -> ColumnOrigins:
    return outputs(statement(relation), partial(_columns_of, no_rows=no_rows))


def _columns_of(read: str, no_rows: frozenset[str]) -> ColumnOrigins:
    """The columns of a relation that SQL reads: a table's, those of the SQL that makes it, or what Python registers."""
    if read in STORED:
        columns = (column.name for column in contract(read).columns)
        return ColumnOrigins({name: frozenset({(read, name)}) for name in columns})
    if read in sql_names() - _COUNTED:
        return _made(read, no_rows)
    return ColumnOrigins(rest=NOTHING if read in no_rows | _COUNTED else UNKNOWN)
