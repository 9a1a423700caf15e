"""Parquet files grouped by their footers: which have the same columns and types, and which cannot be read."""

from collections.abc import Sequence

import duckdb

from goodput.plumbing.sql_files import connect

# Statistics in a Parquet footer leave out NaN, and DuckDB takes them for all that a file holds: of a file written by
# pyarrow with NaN among its numbers, `WHERE isnan(x)` returns no row. Checks must not be optimised by these.
BLIND_TO_NAN = "filter_pushdown,statistics_propagation"


def files_by_layout(connection: duckdb.DuckDBPyConnection, files: Sequence[str]) -> list[list[str]]:
    """Files grouped by their columns and types.

    Only files of one layout may be read together: of two, DuckDB fills up or casts what one lacks.
    """
    groups = connection.execute(
        "SELECT list(file_name ORDER BY file_name) AS files FROM ("
        "  SELECT file_name, list((name, duckdb_type) ORDER BY column_id) FILTER (column_id > 0) AS layout"
        "  FROM parquet_schema(?) GROUP BY file_name"
        ") GROUP BY layout ORDER BY files",
        [list(files)],
    )
    return [same for (same,) in groups.fetchall()]


def why_unreadable(file: str) -> str | None:
    """Why not every value of a Parquet file can be read; None where all can."""
    try:
        with connect() as connection:
            connection.execute("SELECT max(hash(rows)) FROM read_parquet(?, hive_partitioning = false) AS rows", [file])
    except duckdb.Error as error:
        return str(error).splitlines()[0]
    return None
