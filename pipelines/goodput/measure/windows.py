"""Computes `goodput` and what goes with it for a batch of partitions, and what a restatement changes.

The arithmetic is sql/measure/goodput/.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import polars as pl
import pyarrow as pa

from goodput.contracts import arrow_schema, contract
from goodput.measure.hourly_sums import HourlySums, as_codes
from goodput.measure.percentiles import Percentiles, percentiles_of
from goodput.measure.restatement import RESTATED, write_restated
from goodput.measure.slices import DIMENSIONS, Slice, all_slices
from goodput.measure.window_quantiles import compute_quantiles
from goodput.plumbing.compute import compute_each, load, write_windows
from goodput.plumbing.graph import closure
from goodput.plumbing.hours import HOUR_NS, epoch_hour, hour_label
from goodput.plumbing.node import OWN_HOURS, STORED, Batch, Context, Lookaround, Parts, hours_in
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import compute, connect
from goodput.settings.model import Settings

TABLES = ("goodput", "gate_failures", "load_windows")
_NODE = "windows"
_CODED = ("step_counts", "spanned_windows", "step_gates", "step_labels", "label_sessions", "step_latencies")
SUMS = ("dimension_names", "step_names", "step_values", *_CODED)
_QUANTILES = ("exact_quantiles", "counted_quantiles")


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
        "waste": OWN_HOURS,
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


def beside(context: Context, partition: str) -> object:
    """What makes windows stale beside their inputs and their own lengths: load windows are of the shortest of all."""
    return observed_edges(context, partition), _is_base_asked(context.settings, context.grains(partition))


def compute_windows(batch: Batch) -> Parts:
    """Measure the windows of a batch, and record what they restate.

    See docs/semantics.md#windows, #frontier, #time-and-restatement.
    """
    with connect() as connection:
        empty = load(connection, batch)
        measured = measure(
            connection,
            all_slices(batch.settings),
            is_base_asked=_is_base_asked(batch.settings, batch.grains),
            percentiles=percentiles_of(batch),
            empty=empty,
        )
    return _written(batch, measured)


def _is_base_asked(settings: Settings, grains: Collection[int]) -> bool:
    return min(settings.windows_s) in grains


def _written(batch: Batch, measured: Measured) -> Parts:
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
    percentiles: Percentiles = "exact",
    empty: Collection[str] = (),
) -> Measured:
    """Rows of the windows that relation `measured_range` asks for, at the lengths of `grains`, in the slices.

    See docs/semantics.md#windows, #frontier.

    The connection has the inputs and parameters of the windows; load windows exist at the base length alone.
    `percentiles`: `exact` ones hold all values. `empty`: inputs and parameters that are known to have no rows.
    """
    known = set(empty)
    _add_up(connection, known)
    return _measured(connection, slices, percentiles, known, is_base_asked=is_base_asked)


def _add_up(connection: duckdb.DuckDBPyConnection, known: set[str]) -> None:
    """Make `SUMS` of the inputs, and add to `known` those without rows."""
    compute(connection, "dimension_names")
    _name_codes(connection)
    left = [name for name in closure(SUMS, STORED) if name != "dimension_names"]
    compute_each(connection, _NODE, left, known)


def _name_codes(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the types of the dimensions, of all values of theirs."""
    compute(connection, "request_dimensions")
    for column in DIMENSIONS:
        values = f"SELECT unnest({column}) FROM request_dimensions"  # noqa: S608  (a column of its own)
        connection.execute(f"CREATE TEMP TYPE {column}_code AS ENUM ({values})")


def _measured(
    connection: duckdb.DuckDBPyConnection,
    slices: Sequence[Slice],
    percentiles: Percentiles,
    known: set[str],
    *,
    is_base_asked: bool,
) -> Measured:
    """The rows of windows, of a connection that has `SUMS`."""
    tables = TABLES if is_base_asked else TABLES[:-1]
    left = closure(tables, STORED.union(SUMS, _QUANTILES))
    counted = left.index("window_counts") + 1
    compute_each(connection, _NODE, left[:counted], known)
    compute_quantiles(connection, slices, percentiles)
    compute_each(connection, _NODE, left[counted:], known)
    goodput = _rows(connection, "goodput", RESTATED)
    failures = _rows(connection, "gate_failures")
    loads = _rows(connection, "load_windows") if is_base_asked else _empty("load_windows")
    return Measured(goodput, failures, loads)


def _add_up_hour(connection: duckdb.DuckDBPyConnection, hour: Batch) -> None:
    _add_up(connection, load(connection, hour))


def _measure_day(connection: duckdb.DuckDBPyConnection, day: Batch) -> Parts:
    empty = load(connection, day)
    _name_codes(connection)
    as_codes(connection, _CODED, DIMENSIONS)
    slices, is_base_asked = all_slices(day.settings), _is_base_asked(day.settings, day.grains)
    return _written(day, _measured(connection, slices, "counted", empty, is_base_asked=is_base_asked))


HOURLY_SUMS = HourlySums(SUMS, _add_up_hour, _measure_day)


def _empty(table: str) -> pl.DataFrame:
    return pl.DataFrame(arrow_schema(table).empty_table())


def _rows(connection: duckdb.DuckDBPyConnection, table: str, without: Sequence[str] = ()) -> pl.DataFrame:
    wanted = [field for field in arrow_schema(table) if field.name not in without]
    columns = ", ".join(f'"{field.name}"' for field in wanted)
    rows = connection.sql(f'SELECT {columns} FROM "{table}"').to_arrow_table()  # noqa: S608
    return contract(table).in_order(pl.DataFrame(rows.cast(pa.schema(wanted))))


def window_options(context: Context, batch: Batch) -> pa.Table:
    """Step and base length of windows, reach of sessions and requests, and when telemetry was observed."""
    first_ns, last_ns = context.observed_ns
    return as_rows(
        "window_options",
        {
            "step_s": math.gcd(*batch.grains),
            "base_s": min(batch.settings.windows_s),
            "session_reach_h": session_reach_h(batch.settings),
            "request_reach_h": context.request_reach_h,
            "observed_from_ns": first_ns,
            "observed_until_ns": last_ns,
        },
    )
