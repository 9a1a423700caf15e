"""Makes `cache_by_replica` and `replica_windows` of attempts and samples: which cells are stale, and computing them.

The arithmetic is in sql/; cells are those of `goodput`, an hour or a day.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import ClassVar

import duckdb
import polars as pl
import pyarrow as pa

from goodput.measure.compute import rows_of_cell
from goodput.measure.joined_hours import JoinedHours
from goodput.measure.staleness import Cell, cells_of
from goodput.measure.windows import range_row
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import day_of, neighbours
from goodput.plumbing.lake import write_parquet
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import compute, connect, read_parts, sql_file

TABLES = ("cache_by_replica", "replica_windows")
_RELATIONS = ("replica_life", "replica_grid", "replica_counts", "replica_gauges")


@dataclass(frozen=True)
class ReplicaInputs(JoinedHours):
    """Everything that cells of the two tables are computed from, as it lies in the lake now."""

    reads: ClassVar = ("attempts", "replica_samples")
    made: ClassVar = TABLES

    @cached_property
    def _rules(self) -> str:
        texts = [sql_file(name).text for name in ("macros", *_RELATIONS, *TABLES)]
        return fingerprint(texts, [str(contract(table)) for table in TABLES], self.join.settings.staleness_s)

    def near(self, hours: Collection[str]) -> dict[str, set[str]]:
        """Hours of each table that `hours` are computed from: attempts in flight, readings up to staleness_s off."""
        reach = self.join.reach
        return {"attempts": neighbours(hours, reach, reach), "replica_samples": neighbours(hours, 1, 1)}

    def cells(self) -> Iterator[Cell]:
        """Every cell that the joined parts call for."""
        hours = neighbours(self.parts["attempts"], self.join.reach, 0) | set(self.parts["replica_samples"])
        return cells_of(hours, self.join.settings.windows_s, self._inputs_of)

    def _inputs_of(self, hours: Sequence[str], grains: Sequence[int]) -> str:
        return fingerprint(self._rules, grains, self.used(hours))


def measure_replicas(inputs: ReplicaInputs, cells: Sequence[Cell]) -> Iterator[dict[str, int]]:
    """Write the candidates of `cells`, what is due of a day at a time; yields the rows of each day by table."""
    in_order = sorted(cells, key=lambda cell: cell.from_s)
    for _, of_day in groupby(in_order, key=lambda cell: day_of(cell.hours[0])):
        due = list(of_day)
        with connect() as connection:
            _load(connection, inputs, due)
            for relation in _RELATIONS:
                compute(connection, relation)
            yield {table: _write(connection, inputs, table, due) for table in TABLES}


def _load(connection: duckdb.DuckDBPyConnection, inputs: ReplicaInputs, cells: Sequence[Cell]) -> None:
    hours = [hour for cell in cells for hour in cell.hours]
    for table in inputs.reads:
        read_parts(connection, table, inputs.files(table, hours), arrow_schema(table))
    grains = sorted({grain for cell in cells for grain in cell.grains})
    stretch = range_row(min(cell.from_s for cell in cells), max(cell.until_s for cell in cells))
    staleness_ns = [round(inputs.join.settings.staleness_s * 1e9)]
    register(connection, "grains", pa.table({"window_s": grains}))
    register(connection, "measured_range", stretch)
    register(connection, "sample_options", pa.table({"staleness_ns": staleness_ns}))


def _write(connection: duckdb.DuckDBPyConnection, inputs: ReplicaInputs, table: str, cells: Sequence[Cell]) -> int:
    schema = arrow_schema(table)
    columns = ", ".join(f'"{name}"' for name in schema.names)
    found = connection.sql(
        f"SELECT {columns} FROM ({sql_file(table).text}) ORDER BY window_s, window_start, replica"  # noqa: S608
    ).to_arrow_table()
    rows = pl.DataFrame(found)
    for cell in cells:
        part = rows_of_cell(cell, rows).to_arrow().cast(schema)
        write_parquet(inputs.lake.part("candidate", table, cell.name), part, inputs=cell.inputs)
    return rows.height
