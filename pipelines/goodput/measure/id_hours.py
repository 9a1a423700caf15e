"""In which hours an id occurs: an index by day, so that a search for one request opens no parts of other hours."""

from collections.abc import Collection

import pyarrow as pa

from goodput.measure.part_hours import with_part_hour
from goodput.plumbing.compute import load
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.hours import day_of, epoch_hour
from goodput.plumbing.node import Batch, Context, Parts, hours_in
from goodput.plumbing.sql_files import compute, connect

TABLE = "id_hours"
_IDS_OF = ("attempts", "serving_records")


def days(context: Context) -> Collection[str]:
    """Days in which any hour has an id."""
    return {day_of(hour) for table in _IDS_OF for hour in context.lake.catalog[table].parts}


def index_days(batch: Batch) -> Parts:
    """Write the index of each day of the batch."""
    with connect() as connection:
        load(connection, batch)
        with_part_hour(connection, batch.files("attempts"))
        compute(connection, TABLE)
        found = connection.sql(f"FROM {TABLE} ORDER BY {contract(TABLE).order}").to_arrow_table()
    hours = found.column("epoch_hour").to_numpy()
    parts = {}
    for day in batch.partitions:
        first, *_, last = (epoch_hour(hour) for hour in hours_in(day))
        mine = found.filter(pa.array((hours >= first) & (hours <= last)))
        parts[day] = batch.write(TABLE, day, mine.cast(arrow_schema(TABLE)))
    return {TABLE: parts}
