"""Makes `waste` of the ledger, cell by cell: which cells are stale, and computing them.

The arithmetic is sql/measure/waste.sql; cells are those of `goodput`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import polars as pl
import pyarrow as pa

from goodput.join.staleness import JoinInputs, files_of
from goodput.measure.compute import due_together, rows_of_cell
from goodput.measure.ledger import TABLE as LEDGER
from goodput.measure.staleness import Cell, cells_of
from goodput.measure.windows import SLICES, slice_rows
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import Lake, inputs_of, write_parquet
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import connect, read_parts, sql_file

TABLE = "waste"


@dataclass(frozen=True)
class WasteInputs:
    """Everything that cells of `waste` are computed from, as it lies in the lake now."""

    join: JoinInputs
    made: ClassVar = (TABLE,)

    @property
    def lake(self) -> Lake:
        """The lake."""
        return self.join.lake

    @cached_property
    def parts(self) -> dict[str, list[Path]]:
        """Parts of the ledger by hour."""
        return self.lake.parts("measured", LEDGER)

    @cached_property
    def _rules(self) -> str:
        return fingerprint([sql_file(name).text for name in ("macros", TABLE)], str(contract(TABLE)), SLICES)

    def cells(self) -> Iterator[Cell]:
        """Every cell that the ledger calls for."""
        return cells_of(self.parts, self.join.settings.windows_s, self._inputs_of)

    def _inputs_of(self, hours: Sequence[str], grains: Sequence[int]) -> str:
        used = [inputs_of(self.parts[hour][0]) if hour in self.parts else "" for hour in hours]
        return fingerprint(self._rules, grains, used)


def write_waste(inputs: WasteInputs, cells: Sequence[Cell]) -> int:
    """Write the candidates of cells; their rows."""
    return sum(_write(inputs, batch) for batch in due_together(cells))


def _write(inputs: WasteInputs, cells: Sequence[Cell]) -> int:
    schema = arrow_schema(TABLE)
    columns = ", ".join(f'"{name}"' for name in schema.names)
    key = ", ".join(contract(TABLE).primary_key)
    hours = {hour for cell in cells for hour in cell.hours}
    grains = sorted({grain for cell in cells for grain in cell.grains})
    with connect() as connection:
        read_parts(connection, LEDGER, files_of(inputs.parts, hours), arrow_schema(LEDGER))
        register(connection, "grains", pa.table({"window_s": grains}))
        register(connection, "slices", slice_rows(SLICES))
        found = connection.sql(f"SELECT {columns} FROM ({sql_file(TABLE).text}) ORDER BY {key}")  # noqa: S608
        rows = pl.DataFrame(found.to_arrow_table())
    parts = {cell: rows_of_cell(cell, rows).to_arrow().cast(schema) for cell in cells}
    for cell, part in parts.items():
        write_parquet(inputs.lake.part("candidate", TABLE, cell.name), part, inputs=cell.inputs)
    return sum(part.num_rows for part in parts.values())
