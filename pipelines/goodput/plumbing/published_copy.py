"""A damaged part from the copy of its rows in the published database: taken where it gives the very same bytes."""

import io

import duckdb
import pyarrow as pa

from goodput.contracts import arrow_schema, contract
from goodput.plumbing.catalog import Part
from goodput.plumbing.database import published
from goodput.plumbing.lake import Lake
from goodput.plumbing.part_writer import PartWriter


def published_copy(lake: Lake, table: str, part: Part) -> pa.Table | None:
    """The rows of a part of a table that the database holds, in the order of its contract; None where they are others.

    What is published may be older than the part, or be written by another version.
    """
    schema = arrow_schema(table)
    columns = ", ".join(f'"{column.name}"' for column in contract(table).columns)
    asked = f'SELECT {columns} FROM stored."{table}" WHERE period = $1 ORDER BY {contract(table).order}'  # noqa: S608
    try:
        with published(lake) as connection:
            rows: pa.Table = connection.sql(asked, params=[part.partition]).to_arrow_table()
            shaped = rows.cast(schema)
    except (duckdb.Error, pa.ArrowException):
        return None
    with PartWriter(io.BytesIO(), schema) as writer:
        writer.write(shaped)
    return shaped if writer.content == part.content else None
