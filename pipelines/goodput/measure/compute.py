"""Measures stale cells of `goodput` and what goes with it, and writes them with what they restate."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby

import polars as pl
import pyarrow.parquet as pq

from goodput.measure.staleness import Cell, MeasureInputs
from goodput.measure.windows import Measured, Stretch, measure, restate
from goodput.plumbing.contracts import arrow_schema
from goodput.plumbing.hours import day_of
from goodput.plumbing.lake import write_parquet

_MOST_OF_A_DAY = 12  # with so many hours due, reading the day once outweighs measuring hours that are not due


def measure_cells(inputs: MeasureInputs, cells: Sequence[Cell], computed_at: datetime) -> Iterator[dict[str, int]]:
    """Write the candidates of each cell, and the restatements that it makes; yields rows by table, a cell at a time."""
    for batch in due_together(cells):
        rows = _measured(inputs, batch)
        for cell in batch:
            yield _write(inputs, cell, rows, computed_at)


def due_together(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Cells whose windows one run of the SQL computes: what is due of a day."""
    in_order = sorted(cells, key=lambda cell: cell.from_s)
    for _, group in groupby(in_order, key=lambda cell: day_of(cell.hours[0])):
        due = list(group)
        hours = [cell for cell in due if len(cell.hours) == 1]
        if len(hours) >= _MOST_OF_A_DAY:
            yield due
        else:
            days = [cell for cell in due if len(cell.hours) > 1]
            yield from (batch for batch in (hours, days) if batch)


def _measured(inputs: MeasureInputs, batch: Sequence[Cell]) -> Measured:
    grains = sorted({grain for cell in batch for grain in cell.grains})
    from_s, until_s = min(cell.from_s for cell in batch), max(cell.until_s for cell in batch)
    return measure(inputs.join.settings, inputs.parts(batch), grains, Stretch(from_s, until_s, inputs.join.observed))


def rows_of_cell(cell: Cell, rows: pl.DataFrame) -> pl.DataFrame:
    """Those of measured rows that belong to a cell."""
    start_s = pl.col("window_start").dt.epoch("s")
    return rows.filter(pl.col("window_s").is_in(cell.grains) & (start_s >= cell.from_s) & (start_s < cell.until_s))


def _write(inputs: MeasureInputs, cell: Cell, measured: Measured, computed_at: datetime) -> dict[str, int]:
    lake = inputs.lake
    now = rows_of_cell(cell, measured.goodput)
    schema = arrow_schema("goodput")
    present = lake.part("measured", "goodput", cell.name)
    before = pl.DataFrame(pq.read_table(present) if present.exists() else schema.empty_table())
    rows, restated = restate(now, before, computed_at)
    write_parquet(lake.part("candidate", "goodput", cell.name), rows.to_arrow().cast(schema), inputs=cell.inputs)
    beside = {"gate_failures": measured.gate_failures, "load_windows": measured.load_windows}
    beside = {table: rows_of_cell(cell, all_rows) for table, all_rows in beside.items()}
    for table, found in beside.items():
        here = lake.part("candidate", table, cell.name)
        write_parquet(here, found.to_arrow().cast(arrow_schema(table)), inputs=cell.inputs)
    if restated.height:
        # named by its inputs: computing the same change again writes the same file
        path = lake.part("measured", "restatements", cell.name, cell.inputs)
        write_parquet(path, restated.to_arrow().cast(arrow_schema("restatements")))
    return {"goodput": rows.height, "gate_failures": beside["gate_failures"].height}
