"""Computes `goodput` and what goes with it for stretches of event time, and what a restatement changes.

The arithmetic is in sql/; which stretch has to be computed again is `staleness`'s work.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb
import polars as pl
import pyarrow as pa

from goodput.join.workloads import workload_rows
from goodput.measure.gates import gate_order
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import compute, connect, read_parts, sql_file
from goodput.settings.model import Settings

SLICES = (
    # slice, by_workload, by_model, by_pool, by_route
    ("overall", False, False, False, False),
    ("pool", False, False, True, False),
    ("workload", True, False, False, False),
    ("workload_model", True, True, False, False),
    ("workload_pool", True, False, True, False),
    ("workload_route", True, False, False, True),
    ("finest", True, True, True, True),
)
RELATIONS = (
    *("request_dimensions", "measured_sessions", "measured_requests", "window_costs", "window_counts"),
    *("window_quantiles", "gate_counts", "gate_failures", "gate_verdicts", "goodput", "load_windows"),
)
_WORDS = ("workload", "model", "pool", "route")
_By = tuple[bool, ...]  # of each of these words, whether it cuts
_Slice = tuple[str, bool, bool, bool, bool]
RESTATED = ("computed_at", "revision")
_KEY = contract("goodput").primary_key


@dataclass(frozen=True)
class Stretch:
    """Event time [from_s, until_s) in Unix seconds, and what telemetry was observed at all."""

    from_s: int
    until_s: int
    observed_ns: tuple[int, int]


@dataclass(frozen=True)
class Parts:
    """Files of the tables that windows are made from; all but `requests` may be left out where they change nothing."""

    requests: Sequence[str]
    attempts: Sequence[str] = ()
    session_hours: Sequence[str] = ()
    coverage: Sequence[str] = ()
    waste: Sequence[str] = ()


@dataclass(frozen=True)
class Measured:
    """Rows of the measured tables of one stretch; goodput without computed_at and revision."""

    goodput: pl.DataFrame
    gate_failures: pl.DataFrame
    load_windows: pl.DataFrame


def session_reach_h(settings: Settings) -> int:
    """How many hours apart two requests of one session may lie."""
    return math.ceil(settings.max_session_s / 3600)


def measure(settings: Settings, parts: Parts, grains: Sequence[int], stretch: Stretch) -> Measured:
    """Measured rows of a stretch at the given grains (seconds); of `load_windows` at the base grain (semantics 4, 8).

    `parts.requests` and `.attempts` hold every request which completed or arrived in the stretch and its attempts,
    `.session_hours` what sessions did within `session_reach_h` of it, `.coverage` the coverage of its hours,
    `.waste` what its windows cost.
    """
    base_s = min(settings.windows_s)
    with connect() as connection:
        for name in ("requests", "attempts", "session_hours", "coverage", "waste"):
            read_parts(connection, name, getattr(parts, name), arrow_schema(name))
        register(connection, "grains", pa.table({"window_s": list(grains)}))
        register(connection, "measured_range", range_row(stretch.from_s, stretch.until_s))
        register(connection, "window_options", _options(stretch, math.gcd(*grains), base_s, session_reach_h(settings)))
        register(connection, "workload_rules", workload_rows(settings))
        register(connection, "gates", gate_order())
        compute(connection, "request_dimensions")
        for column in _WORDS:
            words = f"SELECT unnest({column}) FROM request_dimensions"  # noqa: S608  (a column of its own)
            connection.execute(f"CREATE TYPE {column}_code AS ENUM ({words})")
        for relation in ("measured_sessions", "measured_requests", "window_costs", "window_counts", "gate_counts"):
            compute(connection, relation)
        quantile_slices = _quantile_slice_of_each(connection)
        register(connection, "slices", slice_rows(SLICES))
        register(connection, "slice_quantiles", _slice_quantile_rows(quantile_slices))
        _compute_quantiles(connection, set(quantile_slices))
        for relation in ("gate_failures", "gate_verdicts"):
            compute(connection, relation)
        goodput = _rows(connection, "goodput", RESTATED)
        failures = _rows(connection, "gate_failures")
        loads = (
            _rows(connection, "load_windows")
            if base_s in grains
            else pl.DataFrame(arrow_schema("load_windows").empty_table())
        )
    return Measured(
        _in_order("goodput", goodput), _in_order("gate_failures", failures), _in_order("load_windows", loads)
    )


def _in_order(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort(contract(table).primary_key, nulls_last=False)


def _quantile_slice_of_each(connection: duckdb.DuckDBPyConnection) -> list[_By]:
    """For each slice the words that suffice to tell its rows apart; where they are the same, so are percentiles."""
    words = f"SELECT DISTINCT {', '.join(_WORDS)} FROM window_counts"  # noqa: S608  (columns of its own)
    found = pl.DataFrame(connection.sql(words).to_arrow_table())
    return [_fewest(found, row[1:]) for row in SLICES]


def _fewest(found: pl.DataFrame, by: _By) -> _By:
    """As few of the words as part the rows in `found` as all of them do."""
    kept = [name for name, cuts in zip(_WORDS, by, strict=True) if cuts]
    for word in reversed(tuple(kept)):
        fewer = [name for name in kept if name != word]
        if _parts(found, fewer) == _parts(found, kept):
            kept = fewer
    return tuple(name in kept for name in _WORDS)


def _parts(found: pl.DataFrame, by: Sequence[str]) -> int:
    return found.unique(by).height if by else min(found.height, 1)


def _compute_quantiles(connection: duckdb.DuckDBPyConnection, slices: Iterable[_By]) -> None:
    """One slice after another: percentiles hold all values of theirs in memory."""
    for number, by in enumerate(sorted(slices)):
        register(connection, "quantile_slice", _flags("quantile_by", [by]))
        if number == 0:
            compute(connection, "window_quantiles")
        else:
            connection.execute(f"INSERT INTO window_quantiles {sql_file('window_quantiles').text}")


def slice_rows(rows: Sequence[_Slice]) -> pa.Table:
    """Slices as rows: slice, by_workload, by_model, by_pool, by_route."""
    return _flags("by", [row[1:] for row in rows]).add_column(0, "slice", pa.array([row[0] for row in rows]))


def _slice_quantile_rows(quantile_slices: Sequence[_By]) -> pa.Table:
    """For each of SLICES the slice that has its percentiles: slice, quantile_by_workload and so on."""
    return _flags("quantile_by", quantile_slices).add_column(0, "slice", pa.array([row[0] for row in SLICES]))


def _flags(kind: str, rows: Sequence[_By]) -> pa.Table:
    names = [f"{kind}_{word}" for word in _WORDS]
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def _rows(connection: duckdb.DuckDBPyConnection, table: str, without: Sequence[str] = ()) -> pl.DataFrame:
    wanted = [field for field in arrow_schema(table) if field.name not in without]
    columns = ", ".join(f'"{field.name}"' for field in wanted)
    source = f'"{table}"' if table == "gate_failures" else f"({sql_file(table).text})"
    rows = connection.sql(f"SELECT {columns} FROM {source}").to_arrow_table()  # noqa: S608  (of the contract)
    return pl.DataFrame(rows.cast(pa.schema(wanted)))


def range_row(from_s: int, until_s: int) -> pa.Table:
    """The event time [from_s, until_s) that is measured, in Unix seconds."""
    return pa.table({"from_s": [from_s], "until_s": [until_s]})


def _options(stretch: Stretch, step_s: int, base_s: int, session_reach_h: int) -> pa.Table:
    first_ns, last_ns = stretch.observed_ns
    return pa.table(
        {
            "step_s": [step_s],
            "base_s": [base_s],
            "session_reach_h": [session_reach_h],
            "observed_from_s": [first_ns / 1e9],
            "observed_until_s": [last_ns / 1e9],
        }
    )


def restate(now: pl.DataFrame, before: pl.DataFrame, computed_at: datetime) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows with computed_at and revision, and the restatements: what changed in published rows (semantics 9).

    A row that did not change keeps its revision and computed_at; a changed one gets revision + 1.
    """
    values = [name for name in now.columns if name not in _KEY]
    old = before.select(*_KEY, *RESTATED, pl.struct(values).alias("was"))
    both = now.with_columns(pl.struct(values).alias("is")).join(old, on=_KEY, how="left", nulls_equal=True)
    same = pl.col("was").eq_missing(pl.col("is"))
    known = pl.col("revision").is_not_null()
    published = pl.DataFrame(arrow_schema("goodput").empty_table()).schema
    rows = both.with_columns(
        computed_at=pl.when(known & same).then("computed_at").otherwise(pl.lit(computed_at)),
        revision=pl.when(~known).then(0).otherwise(pl.col("revision") + (~same).cast(pl.Int32)),
    ).select(pl.col(name).cast(dtype) for name, dtype in published.items())
    return rows, _restatements(rows, before, computed_at)


def _restatements(rows: pl.DataFrame, before: pl.DataFrame, restated_at: datetime) -> pl.DataFrame:
    told = ("offered", "accepted", "goodput_rps")
    after = rows.select(*_KEY, "revision", *(pl.col(name).alias(f"{name}_after") for name in told))
    past = before.select(
        *_KEY,
        pl.col("revision").alias("revision_before"),
        *(pl.col(name).alias(f"{name}_before") for name in told),
    )
    both = past.join(after, on=_KEY, how="left", nulls_equal=True)
    gone = pl.col("revision").is_null()
    changed = both.filter(gone | (pl.col("revision") > pl.col("revision_before"))).with_columns(
        revision=pl.coalesce("revision", pl.col("revision_before") + 1), restated_at=pl.lit(restated_at)
    )
    shape = pl.DataFrame(arrow_schema("restatements").empty_table()).schema
    return changed.select(pl.col(name).cast(dtype) for name, dtype in shape.items())
