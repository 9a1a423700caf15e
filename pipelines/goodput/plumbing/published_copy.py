"""A damaged part from the copy of its rows in the published database: taken where it gives the very same bytes."""

import io
from collections.abc import Iterator
from contextlib import suppress

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from goodput.contracts import arrow_schema, contract
from goodput.errors import LakeUnreadable
from goodput.plumbing.catalog import Part, Table
from goodput.plumbing.database import published
from goodput.plumbing.durable import sync
from goodput.plumbing.lake import Lake
from goodput.plumbing.part_writer import PartWriter

_OTHERS = "rows_of_other_parts"


def published_copy(lake: Lake, table: str, part: Part) -> pa.Table | None:
    """The rows of a part that the database holds, in the order of its contract; None where there are none, or others.

    What is published may be older than the part, or be written by another version. Another part of the same partition
    may be damaged too: rows of several are told apart by the first column of their order, when they came.
    """
    schema, home = arrow_schema(table), lake.catalog[table]
    columns = ", ".join(f'"{column.name}"' for column in contract(table).columns)
    asked = f'''
        SELECT {columns} FROM stored."{table}" WHERE period = $1
        EXCEPT ALL SELECT {columns} FROM {_OTHERS}
        ORDER BY {contract(table).order}
    '''  # noqa: S608  (words of the contract)
    try:
        others = _readable(home, part)
        with published(lake) as connection:
            connection.register(_OTHERS, pa.concat_tables([schema.empty_table(), *others]))
            rows: pa.Table = connection.sql(asked, params=[part.partition]).to_arrow_table()
            shaped = rows.cast(schema)
    except (duckdb.Error, pa.ArrowException, LakeUnreadable):
        return None
    return next((rows for rows in _choices(shaped, contract(table).order) if _content(rows) == part.content), None)


def _readable(home: Table, part: Part) -> list[pa.Table]:
    """Rows of the other parts of a part's partition, as far as they can be read."""
    found = []
    for other in home.parts.get(part.partition, ()):
        if other != part:
            with suppress(LakeUnreadable):
                found.append(home.read(other))
    return found


def _choices(rows: pa.Table, order: str) -> Iterator[pa.Table]:
    """All rows, or those of each moment at which some came."""
    yield rows
    moments = rows.column(order.partition(",")[0])
    if pa.types.is_timestamp(moments.type):
        for moment in pc.unique(moments):
            yield rows.filter(pc.equal(moments, moment))


def _content(rows: pa.Table) -> str:
    with PartWriter(io.BytesIO(), rows.schema) as writer:
        writer.write(rows)
    return writer.content


def put_back(lake: Lake, table: str, part: Part, rows: pa.Table) -> None:
    """Write the rows of a damaged part in its place. Raises LakeUnwritable, LeaseLost, StoreFailed."""
    written = lake.write_part(table, part.partition, rows, part.inputs)  # has its name, as the bytes are the same
    sync([written.file])
    lake.store.add([written])
