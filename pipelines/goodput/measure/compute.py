"""Measures stale cells of `goodput` and writes them, with what they restate."""

from collections.abc import Sequence
from datetime import datetime

import polars as pl
import pyarrow.parquet as pq

from goodput.measure.staleness import Cell, MeasureInputs
from goodput.measure.windows import measure, restate
from goodput.plumbing.contracts import arrow_schema
from goodput.plumbing.lake import write_parquet


def measure_cell(inputs: MeasureInputs, cell: Cell, computed_at: datetime) -> pl.DataFrame:
    """Write the candidate of one cell, and the restatements that it makes; returns the rows."""
    lake = inputs.lake
    present = lake.part("measured", "goodput", cell.name)
    empty = arrow_schema("goodput").empty_table()
    before = pl.DataFrame(pq.read_table(present) if present.exists() else empty)
    now = measure(inputs.join.settings, inputs.files(cell), cell.grains, inputs.stretch(cell))
    rows, restated = restate(now, before, computed_at)
    schema = arrow_schema("goodput")
    write_parquet(lake.part("candidate", "goodput", cell.name), rows.to_arrow().cast(schema), inputs=cell.inputs)
    if restated.height:
        # named by its inputs: computing the same change again writes the same file
        path = lake.part("measured", "restatements", cell.name, cell.inputs)
        write_parquet(path, restated.to_arrow().cast(arrow_schema("restatements")))
    return rows


def measure_cells(inputs: MeasureInputs, cells: Sequence[Cell], computed_at: datetime) -> int:
    """Measure all `cells`; rows written."""
    return sum(measure_cell(inputs, cell, computed_at).height for cell in cells)
