"""Parts of the lake whose rows are called otherwise: read whole, and written anew in the order of their contract."""

from collections.abc import Iterator

import pyarrow as pa

from goodput.contracts import arrow_schema, contract
from goodput.plumbing.catalog import Part
from goodput.plumbing.identity_columns import ORDERING
from goodput.plumbing.lake import Lake
from goodput.plumbing.part_rows import read_as_written
from goodput.plumbing.sql_files import connect

_ROW = "row_as_it_was"


def parts_with_rows(lake: Lake, table: str) -> Iterator[Part]:
    """The parts of a table that are not empty."""
    for parts in lake.catalog[table].parts.values():
        yield from (part for part in parts if part.rows)


def rows_of(lake: Lake, part: Part, columns: list[str] | None = None) -> pa.Table:
    """The rows of a part with the columns that it has, or some of them. Raises LakeUnreadable."""
    lake.store.fetch([part.path])
    return read_as_written(part.path, columns)


def rewritten(lake: Lake, table: str, part: Part, rows: pa.Table) -> Part:
    """A part in the place of another, made from the same, with the columns of its rows: those of a closed hour may be
    an older version's. Raises LakeUnwritable."""
    order = contract(table).order
    if any(name in ORDERING for name in order.split(", ")):
        with connect() as connection:
            connection.register("rows_of_part", rows.append_column(_ROW, pa.array(range(rows.num_rows), pa.int64())))
            asked = f'SELECT * EXCLUDE ("{_ROW}") FROM rows_of_part ORDER BY {order}, "{_ROW}"'  # noqa: S608
            ordered = connection.sql(asked).to_arrow_table()
    else:
        ordered = rows
    agreed = arrow_schema(table)
    schema = pa.schema([agreed.field(field.name) if field.name in agreed.names else field for field in rows.schema])
    return lake.write_part(table, part.partition, ordered.cast(schema), part.inputs)
