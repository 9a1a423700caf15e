"""Makes `waste` of the ledger, cell by cell: which cells are stale, and computing them.

The arithmetic is sql/waste.sql; cells are those of `goodput`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from goodput.join.staleness import JoinInputs, files_of
from goodput.measure.ledger import TABLE as LEDGER
from goodput.measure.staleness import Cell, cells_of
from goodput.measure.windows import SLICES, slice_rows
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import Lake, inputs_of, write_parquet
from goodput.plumbing.sql_files import compute, connect, read_parts, sql_file

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


def write_waste(inputs: WasteInputs, cell: Cell) -> int:
    """Write the candidate of a cell; its rows."""
    names = arrow_schema(TABLE).names
    columns = ", ".join(f'"{name}"' for name in names)
    key = ", ".join(contract(TABLE).primary_key)
    with connect() as connection:
        read_parts(connection, LEDGER, files_of(inputs.parts, cell.hours), arrow_schema(LEDGER))
        connection.register("grains", pa.table({"window_s": pa.array(cell.grains, pa.int32())}))
        connection.register("slices", slice_rows(SLICES))
        compute(connection, TABLE)
        rows = connection.sql(f"SELECT {columns} FROM {TABLE} ORDER BY {key}").to_arrow_table()  # noqa: S608
    path = inputs.lake.part("candidate", TABLE, cell.name)
    write_parquet(path, rows.cast(arrow_schema(TABLE)), inputs=cell.inputs)
    return int(rows.num_rows)
