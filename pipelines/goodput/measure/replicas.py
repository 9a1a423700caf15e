"""Computes the relations of replicas by window; the arithmetic is sql/measure/replica_windows/ and its neighbours."""

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from goodput.measure.hourly_sums import HourlySums
from goodput.measure.part_hours import with_part_hour
from goodput.measure.percentiles import Percentiles, leave_others_empty, percentiles_of
from goodput.plumbing.compute import compute_each, load, write_tables
from goodput.plumbing.graph import closure
from goodput.plumbing.node import STORED, Batch, Context, Lookaround, Parts, SettingsTable
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import connect
from goodput.settings.model import Settings


def lookaround(context: Context) -> Mapping[str, Lookaround]:
    """Attempts in flight, and readings up to staleness_s away, which is at most an hour."""
    reach = context.request_reach_h
    return {"attempts": Lookaround(reach, reach, calls=(reach, 0)), "replica_samples": Lookaround(1, 1, calls=(0, 0))}


def cache_options(settings: Settings) -> pa.Table:
    """How much of a prompt must come from the cache for a hit."""
    return as_rows("cache_options", {"hit_min_ratio": settings.cache_hit_min_ratio})


def context_options(settings: Settings) -> pa.Table:
    """How many tokens of input make a long context."""
    return as_rows("context_options", {"long_context_tokens": settings.long_context_tokens})


SETTINGS_TABLES: Mapping[str, SettingsTable] = {
    "cache_options": cache_options,
    "context_options": context_options,
}
_LATENCIES = "step_attempt_latencies"
_SUMS = ("step_attempts", "replica_spans", "busy_spans", _LATENCIES)
_QUANTILES = "attempt_quantiles"


def compute_replicas(batch: Batch) -> Parts:
    """Measure the replicas of a batch. See docs/semantics.md#cache-and-replicas, #cache-effect, #percentiles."""
    percentiles = percentiles_of(batch)
    with connect() as connection:
        empty = _add_up(connection, batch, with_latencies=percentiles == "counted")
        return _measure(connection, batch, percentiles, empty)


def _add_up(connection: duckdb.DuckDBPyConnection, batch: Batch, *, with_latencies: bool) -> set[str]:
    """Make `_SUMS` of the inputs, without the counts of latencies where values are held; gives what has no rows."""
    empty = load(connection, batch)
    with_part_hour(connection, batch.files("attempts"))
    names = _SUMS if with_latencies else [name for name in _SUMS if name != _LATENCIES]
    compute_each(connection, batch.node.name, closure(names, STORED), empty)
    return empty


def _measure(connection: duckdb.DuckDBPyConnection, batch: Batch, percentiles: Percentiles, empty: set[str]) -> Parts:
    """Make the parts of a batch, on a connection that has `_SUMS`."""
    made, node = STORED.union(_SUMS), batch.node
    compute_each(connection, node.name, closure((f"{percentiles}_{_QUANTILES}",), made), empty)
    leave_others_empty(connection, percentiles, _QUANTILES)
    of_both = {f"{kind}_{_QUANTILES}" for kind in ("exact", "counted")}
    compute_each(connection, node.name, closure(node.tables, made | of_both), empty)
    return write_tables(connection, batch, empty)


def _add_up_hour(connection: duckdb.DuckDBPyConnection, hour: Batch) -> None:
    _add_up(connection, hour, with_latencies=True)


def _measure_day(connection: duckdb.DuckDBPyConnection, day: Batch) -> Parts:
    return _measure(connection, day, "counted", load(connection, day))


HOURLY_SUMS = HourlySums(_SUMS, _add_up_hour, _measure_day)
