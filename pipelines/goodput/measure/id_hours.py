"""In which hours an id occurs: an index by day, so that a search for one request opens no parts of other hours."""

import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from goodput.contracts import arrow_schema
from goodput.measure.part_hours import with_part_hour
from goodput.plumbing.compute import compute_each, load
from goodput.plumbing.hours import day_of, epoch_hour
from goodput.plumbing.node import Batch, Context, Parts, hours_in
from goodput.plumbing.part_writer import PartWriter
from goodput.plumbing.spill import spill_folder
from goodput.plumbing.sql_files import connect, parquet, quoted

TABLE = "id_hours"
_IDS_OF = ("attempts", "serving_records")
_ROWS_AT_ONCE = 5_000_000  # whose ids take some 2.5 GB
_Numbers = npt.NDArray[np.int64]


def days(context: Context) -> Collection[str]:
    """Days in which any hour has an id."""
    return {day_of(hour) for table in _IDS_OF for hour in context.lake.catalog[table].parts}


def index_days(batch: Batch) -> Parts:
    """Write the index of each day of the batch, some hashes after the others where there are many rows."""
    with connect() as connection, ExitStack() as opened:
        empty = load(connection, batch)
        with_part_hour(connection, batch.files("attempts"))
        compute_each(connection, batch.node.name, [TABLE], empty)
        rows = sum(len(connection.table(table)) for table in _IDS_OF)
        writers = {day: opened.enter_context(batch.writer(TABLE, day)) for day in batch.partitions}
        for pairs in _pairs(connection, max(1, math.ceil(rows / _ROWS_AT_ONCE))):
            _write(writers, pairs)
    return {TABLE: {day: writer.part for day, writer in writers.items()}}


def _pairs(connection: duckdb.DuckDBPyConnection, count: int) -> Iterator[_Numbers]:
    """Each hash with its hour as one number, as neither is negative: so many ranges of hashes, one after the other."""
    pairs = f"SELECT id_hash::BIGINT << 32 | epoch_hour AS pair, id_hash * {count}::BIGINT >> 31 AS range FROM {TABLE}"  # noqa: S608  (words of this module)
    if count == 1:
        yield _numbers(connection, pairs)
        return
    with spill_folder() as folder:
        connection.execute(f"COPY ({pairs}) TO {quoted(str(folder))} (FORMAT parquet, PARTITION_BY (range), APPEND)")
        for number in range(count):
            files = sorted(map(str, folder.glob(f"range={number}/*.parquet")))
            if files:
                yield _numbers(connection, f"FROM {parquet(files, alike=True)}")


def _numbers(connection: duckdb.DuckDBPyConnection, pairs: str) -> _Numbers:
    found: _Numbers = connection.sql(f"SELECT pair FROM ({pairs})").to_arrow_table().column("pair").to_numpy()  # noqa: S608
    return found


def _write(writers: Mapping[str, PartWriter], pairs: _Numbers) -> None:
    """Write pairs to the index of their day in its order, each once."""
    ordered = np.sort(pairs)
    ordered = ordered[np.diff(ordered, prepend=-1) != 0]
    hashes, hours = ordered >> 32, ordered & 0xFFFFFFFF
    for day, writer in writers.items():
        first, *_, last = (epoch_hour(hour) for hour in hours_in(day))
        mine = (hours >= first) & (hours <= last)
        rows = pa.table({"id_hash": hashes[mine], "epoch_hour": hours[mine]})
        writer.write(rows.cast(arrow_schema(TABLE)))
