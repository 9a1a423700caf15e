"""In which hours an id occurs: an index by day, so that a search for one request opens no parts of other hours."""

from collections.abc import Collection

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from goodput.contracts import arrow_schema
from goodput.measure.part_hours import with_part_hour
from goodput.plumbing.compute import compute_each, load
from goodput.plumbing.hours import day_of, epoch_hour
from goodput.plumbing.node import Batch, Context, Parts, hours_in
from goodput.plumbing.sql_files import connect

TABLE = "id_hours"
_IDS_OF = ("attempts", "serving_records")
_Numbers = npt.NDArray[np.int64]


def days(context: Context) -> Collection[str]:
    """Days in which any hour has an id."""
    return {day_of(hour) for table in _IDS_OF for hour in context.lake.catalog[table].parts}


def index_days(batch: Batch) -> Parts:
    """Write the index of each day of the batch."""
    with connect() as connection:
        empty = load(connection, batch)
        with_part_hour(connection, batch.files("attempts"))
        compute_each(connection, batch.node.name, [TABLE], empty)
        hashes, hours = _each_once(connection)
    parts = {}
    for day in batch.partitions:
        first, *_, last = (epoch_hour(hour) for hour in hours_in(day))
        mine = (hours >= first) & (hours <= last)
        rows = pa.table({"id_hash": hashes[mine], "epoch_hour": hours[mine]})
        parts[day] = batch.write(TABLE, day, rows.cast(arrow_schema(TABLE)))
    return {TABLE: parts}


def _each_once(connection: duckdb.DuckDBPyConnection) -> tuple[_Numbers, _Numbers]:
    """Hashes and hours of the index in its order, each pair once. Neither is negative: one number holds both."""
    asked = f"SELECT id_hash::BIGINT << 32 | epoch_hour AS pair FROM {TABLE}"  # noqa: S608  (words of this module)
    pairs = connection.sql(asked).to_arrow_table()
    ordered = np.sort(pairs.column("pair").to_numpy())
    ordered = ordered[np.diff(ordered, prepend=-1) != 0]
    return ordered >> 32, ordered & 0xFFFFFFFF
