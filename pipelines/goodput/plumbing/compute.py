"""Computes a batch of partitions by SQL alone: load the inputs, run the relations in order, write the tables.

Nodes whose arithmetic is not all SQL use its pieces.
"""

from collections.abc import Collection, Iterable, Iterator

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from goodput.contracts import Contract, arrow_schema, contract
from goodput.plumbing import shapes
from goodput.plumbing.catalog import ALL, Part
from goodput.plumbing.graph import relation
from goodput.plumbing.hours import HOUR_S, day_of, epoch_hour, hour_label
from goodput.plumbing.node import Batch, Context, Parts
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import compute, connect, read_parts

_PARTITION_HOUR = "partition_hour"
_ROWS_AT_ONCE = 2**14  # as they come out of the database: in larger pieces they take more memory and time


def compute_sql(batch: Batch) -> Parts:
    """Run the SQL of a node over the inputs of a batch and write the part of each partition of each of its tables."""
    with connect() as connection:
        empty = load(connection, batch)
        compute_each(connection, batch.node.name, batch.node.relations, empty)
        return write_tables(connection, batch, empty)


def load(connection: duckdb.DuckDBPyConnection, batch: Batch) -> set[str]:
    """Make the inputs and parameters of a batch relations of a connection; gives those without rows."""
    node, empty = batch.node, set()
    for table in node.inputs:
        files = batch.files(table)
        read_parts(connection, table, files, arrow_schema(table), alike=table in batch.alike)
        if not files:
            empty.add(table)
    for name in node.parameters:
        if name in node.from_settings:
            rows = node.from_settings[name](batch.settings)
        elif name in batch.relations:
            rows = batch.relations[name]
        else:
            continue  # its Python registers it once it knows how
        register(connection, name, rows)
        if not rows.num_rows:
            empty.add(name)
    return empty


def compute_each(connection: duckdb.DuckDBPyConnection, node: str, names: Iterable[str], empty: set[str]) -> None:
    """Make relations of a node in their order, and add those without rows to `empty`.

    One that its inputs leave without rows is not planned again: over few rows that is most of what a run costs.
    """
    for name in names:
        if any(emptied <= empty for emptied in relation(name).emptied) and shapes.create(connection, node, name):
            empty.add(name)
            continue
        if compute(connection, name) == 0:
            empty.add(name)
        shapes.note(connection, node, name)


def target_hours(_context: Context, batch: Batch) -> pa.Table:
    """The hours asked for, counted from the Unix epoch."""
    return pa.table({"epoch_hour": pa.array([epoch_hour(hour) for hour in batch.hours], pa.int64())})


def grains(_context: Context, batch: Batch) -> pa.Table:
    """Lengths in seconds of the windows asked for."""
    return pa.table({"window_s": pa.array(batch.grains, pa.int32())})


def measured_range(_context: Context, batch: Batch) -> pa.Table:
    """The event time that is measured, in Unix seconds."""
    return pa.table({"from_s": [batch.from_s], "until_s": [batch.until_s]})


def write_tables(connection: duckdb.DuckDBPyConnection, batch: Batch, empty: Collection[str]) -> Parts:
    """Write the parts of all tables of a node, which the connection has as relations; `empty`: those without rows."""
    tables = batch.node.tables
    return {t: _write_empty(batch, t) if t in empty else write_table(connection, batch, t) for t in tables}


def _write_empty(batch: Batch, table: str) -> dict[str, Part]:
    rows = arrow_schema(table).empty_table()
    return {partition: batch.write(table, partition, rows) for partition in batch.partitions}


def write_table(connection: duckdb.DuckDBPyConnection, batch: Batch, table: str) -> dict[str, Part]:
    """Write the part of each partition of a table that the connection has as a relation."""
    agreed = contract(table)
    if agreed.partition == "none":
        rows = _rows(connection, agreed, "")
        return {ALL: batch.write(table, ALL, rows.cast(arrow_schema(table)))}
    if agreed.partition == "hour":
        return _write_hours(connection, batch, agreed)
    found = _rows(connection, agreed, "")
    return write_windows(batch, table, found)


def _rows(connection: duckdb.DuckDBPyConnection, agreed: Contract, more: str) -> pa.Table:
    columns = ", ".join(f'"{column.name}"' for column in agreed.columns)
    order = f"ORDER BY {agreed.order}" if agreed.order else ""
    return connection.sql(f'SELECT {columns}{more} FROM "{agreed.name}" {order}').to_arrow_table()  # noqa: S608


def _write_hours(connection: duckdb.DuckDBPyConnection, batch: Batch, agreed: Contract) -> dict[str, Part]:
    """Write hour after hour as the rows come: hardly more of them is held than a row group."""
    columns = ", ".join(f'"{column.name}"' for column in agreed.columns)
    numbers = [epoch_hour(hour) for hour in batch.hours]
    reader = connection.sql(
        f"SELECT {columns}, {agreed.partitioned_by} AS {_PARTITION_HOUR} "  # noqa: S608  (words of the contract)
        f'FROM "{agreed.name}" WHERE {_PARTITION_HOUR} IN (SELECT unnest({numbers})) '
        f"ORDER BY {_PARTITION_HOUR}, {agreed.order}"
    ).to_arrow_reader(_ROWS_AT_ONCE)
    rows = _HourlyRows(reader, arrow_schema(agreed.name))
    parts = {}
    for hour, number in zip(batch.hours, numbers, strict=True):
        with batch.writer(agreed.name, hour) as writer:
            for piece in rows.until_end_of(number):
                writer.write(piece)
        parts[hour] = writer.part
    return parts


class _HourlyRows:
    """Rows in order of their hour, read batch by batch and given out hour by hour."""

    def __init__(self, reader: pa.RecordBatchReader, schema: pa.Schema) -> None:
        self._batches = iter(reader)
        self._schema = schema
        self._left = schema.empty_table()
        self._hours = np.empty(0, np.int64)

    def until_end_of(self, hour: int) -> Iterator[pa.Table]:
        """What is left of rows up to the end of an hour."""
        while True:
            if not self._left.num_rows and not self._read():
                return
            end = int(np.searchsorted(self._hours, hour, side="right"))
            if end:
                yield self._left.slice(0, end)
                self._left, self._hours = self._left.slice(end), self._hours[end:]
            if self._left.num_rows:
                return

    def _read(self) -> bool:
        batch = next(self._batches, None)
        if batch is None:
            return False
        rows = pa.Table.from_batches([batch])
        self._hours = rows.column(_PARTITION_HOUR).to_numpy()
        self._left = rows.drop_columns(_PARTITION_HOUR).cast(self._schema)
        return True


def write_windows(batch: Batch, table: str, rows: pa.Table) -> dict[str, Part]:
    """Write windows to the hour or day that each belongs to; `rows` have window_start and window_s."""
    shaped = rows.cast(arrow_schema(table))
    return {p: batch.write(table, p, part) for p, part in split_windows(batch.partitions, shaped)}


def split_windows(partitions: Collection[str], rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each of some partitions, in their order."""
    places = _places(rows, partitions)
    order = np.argsort(places, kind="stable")
    ordered = rows.take(pa.array(order))
    ends = np.searchsorted(places[order], np.arange(-1, len(partitions)), side="right")
    for partition, start, end in zip(partitions, ends[:-1], ends[1:], strict=True):
        yield partition, ordered.slice(start, end - start)


def _places(rows: pa.Table, partitions: Iterable[str]) -> npt.NDArray[np.int64]:
    """The place of each window's partition, an hour or a day by its length, among some; -1 of any other."""
    number = {partition: place for place, partition in enumerate(partitions)}
    starts_s = rows.column("window_start").cast(pa.int64()).to_numpy() // 10**6
    lengths_s = rows.column("window_s").to_numpy()
    hours, which = np.unique(starts_s // HOUR_S, return_inverse=True)
    labels = [hour_label(int(hour)) for hour in hours]
    of_hour = np.array([number.get(label, -1) for label in labels], np.int64)
    of_day = np.array([number.get(day_of(label), -1) for label in labels], np.int64)
    return np.where(lengths_s <= HOUR_S, of_hour[which], of_day[which])
