"""Identity of rows that come without one: a hash of what they say, the same on every machine and in every version."""

import polars as pl

from goodput.plumbing.sql_files import connect

_ROW = "number_of_row"


def row_ids(frame: pl.DataFrame) -> pl.Series:
    """128-bit hex hash of each row's values; NULL differs from every text, and values cannot run into each other."""
    columns = ", ".join(f'"{name}"::VARCHAR' for name in frame.columns)
    with connect() as connection:
        rows = connection.from_arrow(frame.with_row_index(_ROW).to_arrow())
        hashed = rows.project(f"{_ROW}, md5(to_json([{columns}])::VARCHAR) AS row_id").to_arrow_table()
    # DuckDB reads the chunks of a frame at once, and writes their rows as they come.
    return pl.DataFrame(hashed).sort(_ROW)["row_id"]
