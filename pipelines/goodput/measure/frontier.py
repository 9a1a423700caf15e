"""Computes `frontier`: SQL up to the windows that show where knees lie, the fit of `knee`, and SQL again.

The arithmetic is sql/measure/frontier/ and `knee`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from goodput.measure.criteria import Gate, Goodput, Stratum
from goodput.measure.crossing import Array
from goodput.measure.knee import Criterion, Knee, Windows, failing_shares, knee
from goodput.plumbing.compute import compute_each, load, write_tables
from goodput.plumbing.hours import day_of, shifted_day
from goodput.plumbing.node import Batch, Context, Parts, SettingsTable
from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import connect
from goodput.settings.model import Settings

_DAYS = 7
_INPUTS = ("knee_windows", "knee_gates", "knee_strata")
_FITS, _CURVES = "knee_fits", "knee_curves"


def last_busy_week(context: Context, _partition: str) -> Collection[str]:
    """Partitions of windows of the days around the last week before the newest load window."""
    first = _first_day(context)
    return [name for name in context.lake.catalog["goodput"].parts if day_of(name) >= first]


def last_busy_days(context: Context, _partition: str) -> Collection[str]:
    """Days of disruptions in the same time."""
    first = _first_day(context)
    return [day for day in context.lake.catalog["disruptions"].parts if day >= first]


def _first_day(context: Context) -> str:
    busy = context.lake.catalog["load_windows"].filled
    return shifted_day(day_of(busy[-1]), -_DAYS) if busy else "9999"


def options(settings: Settings) -> pa.Table:
    """Whether disrupted windows count."""
    return as_rows("frontier_options", {"include_disrupted": settings.disruptions.in_frontier})


SETTINGS_TABLES: Mapping[str, SettingsTable] = {"frontier_options": options}


def compute_frontier(batch: Batch) -> Parts:
    """Make `frontier` (docs/semantics.md#frontier)."""
    with connect() as connection:
        empty = load(connection, batch)
        fit_between(connection, batch.node.name, batch.node.relations, empty)
        return write_tables(connection, batch, empty)


def fit_between(connection: duckdb.DuckDBPyConnection, node: str, relations: Collection[str], empty: set[str]) -> None:
    """Compute relations of a node in their order, and the knees as soon as what they are fitted to is there.

    `empty`: the inputs without rows.
    """
    left = set(_INPUTS)
    for relation in relations:
        compute_each(connection, node, [relation], empty)
        left.discard(relation)
        if not left and relation in _INPUTS:
            for name, rows in _fits(connection).items():
                register(connection, name, as_rows(name, *rows))


def _fits(connection: duckdb.DuckDBPyConnection) -> Mapping[str, Sequence[Mapping[str, object]]]:
    """The knee of each route and pool, and what fails at each load of what it is judged by."""
    windows, gates, strata = (
        pl.DataFrame(connection.sql(f"FROM {name} ORDER BY ALL").to_arrow_table()) for name in _INPUTS
    )
    fits, curves = [], []
    for (of_slice, name), own in windows.group_by("slice", "name", maintain_order=True):
        mine = own.select("window_start", pl.int_range(pl.len()).alias("place"))
        both = {"slice": of_slice, "name": name}
        fitted = _windows(own)
        criteria: list[Criterion] = [
            *_gates(gates.filter(**both).join(mine, on="window_start"), own.height),
            _goodput(strata.filter(**both).join(mine, on="window_start"), fitted.ended),
        ]
        found = knee(fitted, criteria)
        fits.append(both | _columns(found))
        curves += [both | one for one in _curve(found, own["load_bin"].to_numpy())]
    return {_FITS: fits, _CURVES: curves}


def _columns(found: Knee) -> dict[str, object]:
    ends = {"knee_ci_low_rps": found.low_rps, "knee_ci_high_rps": found.high_rps}
    by = {"knee_gate": found.judged_by and found.judged_by.name, "knee_bound_ratio": found.bound_ratio}
    return {"knee_rps": found.rps, **ends, "knee_censored": found.censored, **by}


def _curve(found: Knee, load_bin: NDArray[np.int64]) -> Iterator[dict[str, object]]:
    """What fails in each load bin of what the knee is judged by."""
    if found.judged_by is None:
        return
    bins, group = np.unique(load_bin, return_inverse=True)
    for number, share, pooled in zip(bins, *failing_shares(found.judged_by, group), strict=True):
        known = None if np.isnan(share) else float(share)
        yield {"load_bin": int(number), "fail_ratio": known, "pooled_fail_ratio": float(pooled)}


def _windows(rows: pl.DataFrame) -> Windows:
    start_s = rows["window_start"].dt.epoch("us").to_numpy() / 1e6
    names = ("carried", "replica_time_s", "load_rps", "declared_rps", "ended")
    return Windows(start_s, float(rows["window_s"][0]), *(_values(rows, name) for name in names))


def _values(rows: pl.DataFrame, name: str) -> Array:
    return rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy()


def _spread(rows: pl.DataFrame, name: str, count: int) -> Array:
    """A column by the place of its window; 0 where it has no row."""
    values = np.zeros(count)
    values[rows["place"].to_numpy()] = _values(rows, name)
    return values


def _gates(rows: pl.DataFrame, count: int) -> Iterator[Gate]:
    for (gate,), own in rows.group_by("gate", maintain_order=True):
        yield Gate(str(gate), _spread(own, "failing", count), _spread(own, "gated", count))


def _goodput(rows: pl.DataFrame, ended: Array) -> Goodput:
    strata = [
        Stratum(str(own["policy"][0]), *(_spread(own, name, len(ended)) for name in ("accepted", "need", "labelled")))
        for _, own in rows.group_by("workload", maintain_order=True)
    ]
    return Goodput(ended, strata)
