"""Percentiles of windows, slice by slice: each holds, or counts, all of its values.

See docs/semantics.md#percentiles.
"""

from collections.abc import Sequence

import duckdb
import polars as pl
import pyarrow as pa

from goodput.measure.percentiles import Percentiles
from goodput.measure.slices import DIMENSIONS, Cuts, Slice, flags
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import compute, sql_file

_OTHER: dict[Percentiles, Percentiles] = {"exact": "counted", "counted": "exact"}


def compute_quantiles(connection: duckdb.DuckDBPyConnection, slices: Sequence[Slice], percentiles: Percentiles) -> None:
    """Make relations `exact_quantiles` and `counted_quantiles`, one of them without rows, and `slice_quantiles`."""
    quantile_slices = _quantile_slice_of_each(connection, slices)
    by_slice = _with_cuts(quantile_slices).add_column(0, "slice", pa.array([row[0] for row in slices]))
    register(connection, "slice_quantiles", by_slice)
    name = f"{percentiles}_quantiles"
    for number, one in enumerate(sorted(set(quantile_slices))):
        register(connection, "quantile_slice", _with_cuts([one]))
        if number == 0:
            compute(connection, name)
        else:
            connection.execute(f"INSERT INTO {name} {sql_file(name).text}")
    other = _OTHER[percentiles]
    connection.execute(f"CREATE TEMP TABLE {other}_quantiles AS FROM {name} LIMIT 0")


def _quantile_slice_of_each(connection: duckdb.DuckDBPyConnection, slices: Sequence[Slice]) -> list[tuple[int, Cuts]]:
    """For each slice its cut and the dimensions that distinguish its rows: where they agree, so do percentiles."""
    dimensions = f"SELECT DISTINCT {', '.join(DIMENSIONS)} FROM window_counts WHERE cut = 0"  # noqa: S608
    found = pl.DataFrame(connection.sql(dimensions).to_arrow_table())
    return [(cut, _fewest(found, by)) for _, cut, *by in slices]


def _fewest(found: pl.DataFrame, by: Sequence[bool]) -> Cuts:
    """As few of the dimensions as distinguish the rows in `found` as well as all of them do."""
    kept = [name for name, cuts in zip(DIMENSIONS, by, strict=True) if cuts]
    for dimension in reversed(tuple(kept)):
        fewer = [name for name in kept if name != dimension]
        if _parts(found, fewer) == _parts(found, kept):
            kept = fewer
    return tuple(name in kept for name in DIMENSIONS)


def _parts(found: pl.DataFrame, by: Sequence[str]) -> int:
    return found.unique(by).height if by else min(found.height, 1)


def _with_cuts(rows: Sequence[tuple[int, Cuts]]) -> pa.Table:
    cuts = pa.array([cut for cut, _ in rows], pa.int32())
    return flags("quantile_by", [by for _, by in rows]).add_column(0, "cut", cuts)
