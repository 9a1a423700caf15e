"""Makes `disruptions`, day by day of the events, and what kinds of operations cost.

The arithmetic is sql/measure/disruptions/. A day reads the base windows of the week before it and of the time that its
events may last; the tables by kind read those of the last week that was measured.
"""

import math
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import get_args

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from goodput.contracts import arrow_schema, contract
from goodput.join.workloads import workload_rows
from goodput.measure.lookback import measured_days
from goodput.plumbing.catalog import ALL
from goodput.plumbing.compute import compute_each, load
from goodput.plumbing.hours import day_of, is_hour
from goodput.plumbing.node import Batch, Context, Parts, SettingsTable, Span
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.row_table import read_files
from goodput.plumbing.sql_files import connect
from goodput.settings.model import OpsKind, Settings

BY_DAY = "disruptions"
BY_KIND = ("disruption_cost", "disruption_frequency")
_BASELINE_S = 7 * 86400
_DAY_S = 86400
_DRAWS = 500
_SEED = 7


def longest_s(settings: Settings) -> float:
    """The longest that a disruption may last."""
    return max(_caps(settings).values())


def around(table: str) -> Span:
    """Partitions of a table of windows, or of hours, that the disruptions of a day depend on."""
    return lambda context, day: _partitions(context, table, *_range_of(context.settings, day))


def _range_of(settings: Settings, day: str) -> tuple[float, float]:
    """Event time that the disruptions of a day, and those that share a base window with them, depend on, in Unix
    seconds."""
    start_s = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    longest, base_s = longest_s(settings), min(settings.windows_s)
    return start_s - _BASELINE_S - longest - base_s, start_s + _DAY_S + 2 * longest + base_s


def _partitions(context: Context, table: str, from_s: float, until_s: float) -> list[str]:
    """Partitions that hold the base windows of a range (Unix seconds)."""
    first, last = (_moment(at_s).strftime("%Y-%m-%d") for at_s in (from_s, until_s))
    hourly = contract(table).partition == "hour" or min(context.settings.windows_s) <= 3600
    found = context.lake.catalog[table].parts
    return [partition for partition in found if first <= day_of(partition) <= last and is_hour(partition) is hourly]


def event_days(context: Context) -> Collection[str]:
    """Days on which an operation was observed."""
    return set(_events(context)["occurred_at"].dt.strftime("%Y-%m-%d"))


def events_and_edges(context: Context, day: str) -> object:
    """Operations near a day, and the part of what it depends on in which telemetry was observed."""
    from_s, until_s = _range_of(context.settings, day)
    near = pl.col("occurred_at").is_between(_moment(from_s - longest_s(context.settings)), _moment(until_s))
    return [_events(context).filter(near).to_dicts(), _observed_s(context, from_s, until_s), recovery(context)]


def recovery(context: Context, _partition: str = ALL) -> object:
    """What decides when a pool has recovered, beside the caps."""
    return [context.settings.disruptions.recovery_tolerance_ratio, min(context.settings.windows_s)]


def recovery_and_edges(context: Context, partition: str = ALL) -> object:
    """The same, and where telemetry was observed."""
    return [recovery(context, partition), context.observed_ns]


def _observed_s(context: Context, from_s: float, until_s: float) -> tuple[float, float]:
    first_s, last_s = (ns / 1e9 for ns in context.observed_ns)
    return max(first_s, from_s), min(last_s, until_s)


def _events(context: Context) -> pl.DataFrame:
    """Every ops event: event_id, kind, occurred_at, pool, replica and revision."""
    return _read_events(next(iter(context.lake.catalog["ops_events"].all_files()), None))


@lru_cache(maxsize=2)
def _read_events(file: str | None) -> pl.DataFrame:
    names = ["event_id", "kind", "occurred_at", "pool", "replica", "revision"]
    return read_files([file] if file else [], "ops_events", names).sort("occurred_at", "event_id")


def in_last_week(table: str) -> Span:
    """Partitions of a table of windows, or of hours, of whole days around the last 7 that were measured."""
    return lambda context, _: _partitions(context, table, *_last_week_s(context))


def _last_week_s(context: Context) -> tuple[float, float]:
    newest = next(iter(measured_days(context, 1)), "1970-01-01")
    until_s = datetime.strptime(newest, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    return until_s - _BASELINE_S, until_s + _DAY_S - 1


def last_week_days(context: Context) -> Collection[str]:
    """Days of the operations that may disrupt these."""
    from_s, until_s = _last_week_s(context)
    first, last = (_moment(at_s).strftime("%Y-%m-%d") for at_s in (from_s - longest_s(context.settings), until_s))
    return [day for day in context.lake.catalog[BY_DAY].parts if first <= day <= last]


def disrupt_day(batch: Batch) -> Parts:
    """Measure the disruptions of one day."""
    (day,) = batch.partitions
    with connect() as connection:
        rows = pl.DataFrame(disrupt(connection, batch, load(connection, batch)))
    mine = rows.filter(pl.col("occurred_at").dt.strftime("%Y-%m-%d") == day)
    return {BY_DAY: {day: batch.write(BY_DAY, day, mine.to_arrow().cast(arrow_schema(BY_DAY)))}}


def disrupt(connection: duckdb.DuckDBPyConnection, batch: Batch, empty: Collection[str] = ()) -> pa.Table:
    """Rows of `disruptions` of the events that relation `disruption_options` asks for (docs/semantics.md#disruptions).

    The connection has the inputs and parameters; the bootstrap's draws are registered once it is known how many the
    baselines need. `empty`: inputs and parameters that are known to have no rows.
    """
    *earlier, last = batch.node.relations
    before = earlier.index("disruption_baselines") + 1
    known = set(empty)
    compute_each(connection, batch.node.name, earlier[:before], known)
    (most,) = connection.sql("SELECT coalesce(max(windows), 0) FROM disruption_baselines").fetchall()[0]
    connection.register("draws", _draws(max(int(most), 1)))
    compute_each(connection, batch.node.name, (*earlier[before:], last), known)
    columns = ", ".join(f'"{column.name}"' for column in contract(BY_DAY).columns)
    found = connection.sql(f"SELECT {columns} FROM {BY_DAY} ORDER BY occurred_at, event_id")  # noqa: S608
    return found.to_arrow_table().cast(arrow_schema(BY_DAY))


def options(context: Context, batch: Batch) -> pa.Table:
    """Which events are asked for, when a pool counts as recovered, and what a baseline is made of."""
    settings = batch.settings
    (partition,) = batch.partitions
    from_s, until_s = _range_of(settings, partition) if partition != ALL else (0.0, math.inf)
    events_s = (from_s + _BASELINE_S, until_s - longest_s(settings)) if partition != ALL else (0.0, 0.0)
    observed_s = _observed_s(context, from_s, until_s)
    return as_rows(
        "disruption_options",
        {
            "base_s": min(settings.windows_s),
            "tolerance_ratio": settings.disruptions.recovery_tolerance_ratio,
            "baseline_s": _BASELINE_S,
            "baseline_windows": 12,
            "load_tolerance_ratio": 0.2,
            "from_s": events_s[0],
            "until_s": events_s[1],
            "observed_from_s": observed_s[0],
            "observed_until_s": observed_s[1],
        },
    )


def caps(settings: Settings) -> pa.Table:
    """How long each kind of disruption may last."""
    rows = [{"kind": kind, "cap_s": cap_s} for kind, cap_s in _caps(settings).items()]
    return as_rows("disruption_caps", *rows)


SETTINGS_TABLES: Mapping[str, SettingsTable] = {"disruption_caps": caps, "workload_rules": workload_rows}


def _caps(settings: Settings) -> dict[str, float]:
    chosen = settings.disruptions
    return {kind: chosen.caps_s.get(kind, chosen.cap_s) for kind in get_args(OpsKind)}


def _draws(windows: int) -> pa.Table:
    """Uniform numbers that pick windows of the baseline; draw 0 takes each window once.

    Drawn window by window, so that the numbers of the first windows do not hang on how many there are.
    """
    u = np.random.default_rng([_SEED, 0]).random((windows, _DRAWS + 1)).ravel()
    picks = np.repeat(np.arange(windows, dtype=np.int64), _DRAWS + 1)
    draws = np.tile(np.arange(_DRAWS + 1, dtype=np.int32), windows)
    return pa.table({"draw": draws, "pick": picks, "u": u})


def _moment(at_s: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=at_s)
