"""Makes `cache_by_replica` and `replica_windows` of attempts and samples: which cells are stale, and computing them.

The arithmetic is in sql/; cells are those of `goodput`, an hour or a day.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa

from goodput.join.staleness import JoinInputs, files_of
from goodput.measure.compute import rows_of_cell
from goodput.measure.staleness import HOUR_S, Cell
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import day_of, hours_of_day, neighbours
from goodput.plumbing.lake import Lake, inputs_of, write_parquet
from goodput.plumbing.sql_files import compute, connect, read_parts, sql_file

TABLES = ("cache_by_replica", "replica_windows")
_RELATIONS = ("replica_life", "replica_grid", "replica_counts", "replica_gauges")
_FROM = ("attempts", "replica_samples")


@dataclass(frozen=True)
class ReplicaInputs:
    """Everything that cells of the two tables are computed from, as it lies in the lake now."""

    join: JoinInputs

    @property
    def lake(self) -> Lake:
        """The lake."""
        return self.join.lake

    @cached_property
    def _parts(self) -> dict[str, dict[str, list[Path]]]:
        return {table: self.lake.parts("joined", table) for table in _FROM}

    @cached_property
    def _made_from(self) -> dict[str, dict[str, str]]:
        return {table: self.lake.made_from("joined", table) for table in self._parts}

    @cached_property
    def _rules(self) -> str:
        texts = [sql_file(name).text for name in ("macros", *_RELATIONS, *TABLES)]
        return fingerprint(texts, [str(contract(table)) for table in TABLES], self.join.settings.staleness_s)

    def near(self, hours: Sequence[str]) -> dict[str, set[str]]:
        """Hours of each table that `hours` are computed from: attempts in flight, readings up to staleness_s off."""
        reach = self.join.reach
        return {"attempts": neighbours(hours, reach, reach), "replica_samples": neighbours(hours, 1, 1)}

    def files(self, table: str, cells: Sequence[Cell]) -> list[str]:
        """Parts of a table that `cells` are computed from."""
        return files_of(self._parts[table], self.near([hour for cell in cells for hour in cell.hours])[table])

    def cells(self) -> Iterator[Cell]:
        """Every cell that the joined parts call for."""
        attempts, samples = (self._parts[table] for table in _FROM)
        grains = self.join.settings.windows_s
        short, long = (tuple(g for g in grains if (g <= HOUR_S) is is_short) for is_short in (True, False))
        hours = sorted(neighbours(attempts, self.join.reach, 0) | set(samples))
        if short:
            yield from (self._cell(f"hour={hour}", (hour,), short) for hour in hours)
        if long:
            yield from (
                self._cell(f"day={day}", tuple(hours_of_day(day)), long)
                for day in sorted({day_of(hour) for hour in hours})
            )

    def _cell(self, name: str, hours: tuple[str, ...], grains: tuple[int, ...]) -> Cell:
        used = [
            [self._made_from[table].get(hour, "") for hour in sorted(near)] for table, near in self.near(hours).items()
        ]
        return Cell(name, hours, grains, fingerprint(self._rules, grains, used))

    def stale_cells(self) -> list[Cell]:
        """Cells whose files were not made from what lies in the lake now."""
        return [cell for cell in self.cells() if self._is_stale(cell)]

    def _is_stale(self, cell: Cell) -> bool:
        return any(inputs_of(self.lake.part("measured", table, cell.name)) != cell.inputs for table in TABLES)


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
    for table in _FROM:
        read_parts(connection, table, inputs.files(table, cells), arrow_schema(table))
    grains = sorted({grain for cell in cells for grain in cell.grains})
    stretch = {"from_s": [min(cell.from_s for cell in cells)], "until_s": [max(cell.until_s for cell in cells)]}
    staleness_ns = [round(inputs.join.settings.staleness_s * 1e9)]
    connection.register("grains", pa.table({"window_s": pa.array(grains, pa.int32())}))
    connection.register("span", pa.table(stretch))
    connection.register("sample_options", pa.table({"staleness_ns": pa.array(staleness_ns, pa.int64())}))


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
