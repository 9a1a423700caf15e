"""Attempts with the hour of the part that holds them: what lies further than a request may reach from it never counts.

Whichever partitions are computed together, a partition then sees the same.
"""

import duckdb
import pyarrow as pa

from goodput.contracts import arrow_schema
from goodput.plumbing.compute import compute_each, load, write_tables
from goodput.plumbing.node import Batch, Parts
from goodput.plumbing.sql_files import connect, parquet


def compute_with_part_hour(batch: Batch) -> Parts:
    """Run the SQL of a node, as `compute_sql` does, over attempts that know the hour of their part."""
    with connect() as connection:
        empty = load_with_part_hour(connection, batch)
        compute_each(connection, batch.node.name, batch.node.relations, empty)
        return write_tables(connection, batch, empty)


def load_with_part_hour(connection: duckdb.DuckDBPyConnection, batch: Batch) -> set[str]:
    """Load the inputs of a batch, as `load` does, with such attempts among them."""
    empty = load(connection, batch)
    with_part_hour(connection, batch.files("attempts"))
    return empty


def with_part_hour(connection: duckdb.DuckDBPyConnection, files: list[str]) -> None:
    """Make `attempts` a relation with `part_hour`, the hour since the Unix epoch whose part holds the row."""
    if files:
        connection.execute(
            "CREATE OR REPLACE TEMP VIEW attempts AS SELECT *, "  # noqa: S608  (paths of the lake)
            "epoch_us(strptime(regexp_extract(filename, 'period=([0-9T-]+)', 1), '%Y-%m-%dT%H')) // 3600000000 "
            f"AS part_hour FROM {parquet(files, named=True)}"
        )
    else:
        empty = arrow_schema("attempts").append(pa.field("part_hour", pa.int64())).empty_table()
        connection.register("attempts", empty)
