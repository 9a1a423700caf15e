"""Computes `goodput` and what goes with it for a batch of partitions, and what a restatement changes.

The arithmetic is sql/measure/goodput/; percentiles are computed slice by slice here, as each holds all of its values.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import polars as pl
import pyarrow as pa

from goodput.contracts import arrow_schema, contract
from goodput.measure.restatement import RESTATED, write_restated
from goodput.measure.slices import DIMENSIONS, Cuts, Slice, all_slices, flags
from goodput.plumbing.compute import compute_each, load, write_windows
from goodput.plumbing.graph import closure
from goodput.plumbing.hours import HOUR_NS, epoch_hour, hour_label
from goodput.plumbing.node import STORED, Batch, Context, Lookaround, Parts, hours_in
from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import compute, connect, sql_file
from goodput.settings.model import Settings

TABLES = ("goodput", "gate_failures", "load_windows")
_NODE = "windows"


@dataclass(frozen=True)
class Measured:
    """Rows of the measured tables of a range of event time; goodput without computed_at and revision."""

    goodput: pl.DataFrame
    gate_failures: pl.DataFrame
    load_windows: pl.DataFrame


def session_reach_h(settings: Settings) -> int:
    """How many hours apart two requests of one session may lie."""
    return math.ceil(settings.max_session_s / 3600)


def counted_session_reach_h(settings: Settings) -> int:
    """Hours around a window whose sessions count in it: none where no workload counts sessions."""
    by_session = any(workload.unit == "session" for workload in settings.workloads.values())
    return session_reach_h(settings) if by_session else 0


def lookaround(context: Context) -> Mapping[str, Lookaround]:
    """Requests that completed or arrived in the windows and their attempts, and sessions around them."""
    reach, sessions = context.request_reach_h, counted_session_reach_h(context.settings)
    return {
        "requests": Lookaround(0, reach, calls=(reach, 0)),
        "attempts": Lookaround(0, reach),
        "session_hours": Lookaround(sessions, sessions),
        "waste": Lookaround(calls=(0, 0)),
    }


def session_partitions(context: Context, partition: str) -> Collection[str]:
    """Hours whose sessions count in a partition."""
    reach = counted_session_reach_h(context.settings)
    if not reach:
        return ()
    hours = hours_in(partition)
    return [hour_label(h) for h in range(epoch_hour(hours[0]) - reach, epoch_hour(hours[-1]) + reach + 1)]


def observed_edges(context: Context, partition: str) -> object:
    """The part of a partition in which telemetry was observed, Unix nanoseconds."""
    hours = hours_in(partition)
    start_ns, end_ns = epoch_hour(hours[0]) * HOUR_NS, (epoch_hour(hours[-1]) + 1) * HOUR_NS
    return [min(max(ns, start_ns), end_ns) for ns in context.observed_ns]


def compute_windows(batch: Batch) -> Parts:
    """Measure the windows of a batch, and record what they restate.

    See docs/semantics.md#windows, #frontier, #time-and-restatement.
    """
    with connect() as connection:
        empty = load(connection, batch)
        is_base_asked = min(batch.settings.windows_s) in batch.grains
        measured = measure(connection, all_slices(batch.settings), is_base_asked=is_base_asked, empty=empty)
    parts = {
        table: write_windows(batch, table, getattr(measured, table).to_arrow())
        for table in ("gate_failures", "load_windows")
    }
    return parts | write_restated(batch, measured.goodput)


def measure(
    connection: duckdb.DuckDBPyConnection,
    slices: Sequence[Slice],
    *,
    is_base_asked: bool,
    empty: Collection[str] = (),
) -> Measured:
    """Rows of the windows that relation `measured_range` asks for, at the lengths of `grains`, in the slices.

    See docs/semantics.md#windows, #frontier.

    The connection has the inputs and parameters of the windows; load windows exist at the base length alone.
    `empty`: inputs and parameters that are known to have no rows.
    """
    compute(connection, "request_dimensions")
    for column in DIMENSIONS:
        values = f"SELECT unnest({column}) FROM request_dimensions"  # noqa: S608  (a column of its own)
        connection.execute(f"CREATE TEMP TYPE {column}_code AS ENUM ({values})")
    tables = TABLES if is_base_asked else TABLES[:-1]
    left = [name for name in closure(tables, STORED) if name not in ("request_dimensions", "window_quantiles")]
    counted = left.index("window_counts") + 1
    known = set(empty)
    compute_each(connection, _NODE, left[:counted], known)
    _compute_quantiles(connection, slices)
    compute_each(connection, _NODE, left[counted:], known)
    goodput = _rows(connection, "goodput", RESTATED)
    failures = _rows(connection, "gate_failures")
    loads = _rows(connection, "load_windows") if is_base_asked else _empty("load_windows")
    return Measured(
        _in_order("goodput", goodput), _in_order("gate_failures", failures), _in_order("load_windows", loads)
    )


def _empty(table: str) -> pl.DataFrame:
    return pl.DataFrame(arrow_schema(table).empty_table())


def _in_order(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort(contract(table).primary_key, nulls_last=False)


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


def _compute_quantiles(connection: duckdb.DuckDBPyConnection, slices: Sequence[Slice]) -> None:
    """One slice after another: percentiles hold all values of theirs in memory."""
    quantile_slices = _quantile_slice_of_each(connection, slices)
    by_slice = _with_cuts(quantile_slices).add_column(0, "slice", pa.array([row[0] for row in slices]))
    register(connection, "slice_quantiles", by_slice)
    for number, one in enumerate(sorted(set(quantile_slices))):
        register(connection, "quantile_slice", _with_cuts([one]))
        if number == 0:
            compute(connection, "window_quantiles")
        else:
            connection.execute(f"INSERT INTO window_quantiles {sql_file('window_quantiles').text}")


def _with_cuts(rows: Sequence[tuple[int, Cuts]]) -> pa.Table:
    cuts = pa.array([cut for cut, _ in rows], pa.int32())
    return flags("quantile_by", [by for _, by in rows]).add_column(0, "cut", cuts)


def _rows(connection: duckdb.DuckDBPyConnection, table: str, without: Sequence[str] = ()) -> pl.DataFrame:
    wanted = [field for field in arrow_schema(table) if field.name not in without]
    columns = ", ".join(f'"{field.name}"' for field in wanted)
    rows = connection.sql(f'SELECT {columns} FROM "{table}"').to_arrow_table()  # noqa: S608
    return pl.DataFrame(rows.cast(pa.schema(wanted)))


def window_options(context: Context, batch: Batch) -> pa.Table:
    """Step and base length of windows, reach of a session, and when telemetry was observed."""
    first_ns, last_ns = context.observed_ns
    return as_rows(
        "window_options",
        {
            "step_s": math.gcd(*batch.grains),
            "base_s": min(batch.settings.windows_s),
            "session_reach_h": session_reach_h(batch.settings),
            "observed_from_ns": first_ns,
            "observed_until_ns": last_ns,
        },
    )
