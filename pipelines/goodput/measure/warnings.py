"""Makes `warnings`: what in settings or telemetry makes published numbers wrong or silent (docs/semantics.md#warnings).

Each kind is a file of sql/measure/warnings/. Here stands what SQL cannot ask: settings, and calls that are compared in
order of time.
"""

from collections.abc import Collection, Mapping
from difflib import get_close_matches

import duckdb
import polars as pl
import pyarrow as pa

from goodput.join.doubles import doubles
from goodput.measure.lookback import DAYS, hours_with_rows, longest_windows, observed_hour, unsettled_hours
from goodput.plumbing.compute import compute_each, load, write_tables
from goodput.plumbing.hours import epoch_hour, hour_label
from goodput.plumbing.node import Batch, Context, Parts, Span
from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import connect
from goodput.settings.columns import mappable_columns
from goodput.settings.model import Settings
from goodput.settings.sources import path_groups

_CALLS = 20_000  # enough to find two emitters of the same calls
_NEWEST_RECORDS = 2 * _CALLS  # among which so many calls are found, unless most were tries
_LEAST_SHARE = 0.01  # of the requests looked at: fewer agree by chance
# One call of each request: what the join has merged, or found to be tries of one request, is no double. Whatever layers
# two requests were seen in, they are two; and a call below another call is a request of its own.
_DELIVERED = """
    SELECT
        s.record_id, 'request' AS layer, s.dialect, s.instrumentation AS scope, s.trace_id, s.span_id,
        NULL::VARCHAR AS parent_span_id, s.response_id, s.call_id, s.started_ns, s.ended_ns, s.model, s.output_tokens,
        false AS covers_tries
    FROM serving_records AS s
    JOIN attempts AS a ON a.attempt_id = s.record_id
    WHERE a.delivered AND s.started_ns >= (
        SELECT min(started_ns) FROM (SELECT started_ns FROM serving_records ORDER BY started_ns DESC LIMIT $newest))
    -- delivered again it is the same record
    QUALIFY row_number() OVER (PARTITION BY s.record_id ORDER BY s.started_ns DESC, s.ended_ns DESC, s.source_id) = 1
    ORDER BY s.started_ns DESC, s.record_id
    LIMIT $calls
"""


def unmatched_path_groups(settings: Settings) -> pa.Table:
    """Named groups of path patterns that no column of their source is called, and that are probably not meant so.

    Of attempts they become attributes: only a name that is nearly a column's is a mistake.
    """
    rows = []
    for name, source in settings.sources.items():
        known = mappable_columns(source.table)
        for group in sorted(path_groups(source) - known.keys()):
            near = next(iter(get_close_matches(group, known, 1)), None)
            if near or source.table != "attempts":
                rows.append({"source": name, "path_group": group, "source_table": source.table, "nearest": near})
    return as_rows("path_groups", *rows)


def alarm_options(settings: Settings) -> pa.Table:
    """How many series of one metric alarms watch; no row without alarms."""
    rows = [{"max_series": settings.alarms.max_series}] if settings.alarms.enabled else []
    return as_rows("alarm_options", *rows)


def record_hours(context: Context, _batch: Batch) -> pa.Table:
    """Hours that hold serving records, as the catalog lists them."""
    parts = context.lake.catalog["serving_records"].parts
    rows = ({"epoch_hour": epoch_hour(hour), "records": sum(part.rows for part in parts[hour])} for hour in parts)
    return as_rows("record_hours", *rows)


def newest_calls(context: Context, _partition: str) -> Collection[str]:
    """The newest hours of serving records that hold enough of them, and the hours after observed telemetry."""
    parts = context.lake.catalog["serving_records"].parts
    last = hour_label(observed_hour(context))
    chosen, rows = [hour for hour in parts if hour > last], 0
    for hour in sorted(hours_with_rows("serving_records", 1)(context, ""), reverse=True):
        if hour <= last and rows < _CALLS:
            chosen.append(hour)
            rows += sum(part.rows for part in parts[hour])
    return chosen


def attempt_hours(context: Context, partition: str) -> Collection[str]:
    """The hours of the newest day, and those of attempts that may be in flight."""
    return {*hours_with_rows("attempts", 1)(context, partition), *unsettled_hours(context, partition)}


SPANS: Mapping[str, Span] = {
    "attempts": attempt_hours,
    "billed_buckets": hours_with_rows("billed_buckets", DAYS),
    "cost_ledger": hours_with_rows("cost_ledger", 1),
    "gate_failures": longest_windows(DAYS),
    "goodput": longest_windows(DAYS),
    "label_rates": longest_windows(DAYS),
    "paid_time": hours_with_rows("paid_time", 1),
    "quality_labels": hours_with_rows("quality_labels", DAYS),
    "replica_names": hours_with_rows("replica_names", 1),
    "replica_windows": longest_windows(DAYS),
    "requests": unsettled_hours,
    "serving_records": newest_calls,
    "waste": longest_windows(DAYS),
}


def warn(batch: Batch) -> Parts:
    """Compute every kind of warning."""
    with connect() as connection:
        empty = load(connection, batch)
        register(connection, "double_counts", _double_counts(connection))
        compute_each(connection, batch.node.name, batch.node.relations, empty)
        return write_tables(connection, batch, empty)


def _double_counts(connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """Pairs of emitters among the newest calls that report the same ones."""
    calls = _newest_calls(connection)
    found = [double for double in doubles(calls) if double.calls >= _LEAST_SHARE * calls.height]
    started = calls["started_ns"].cast(pl.Datetime("ns", "UTC"))
    looked_at = {"requests": calls.height, "first_at": started.min(), "last_at": started.max()}
    rows = ({"first": d.first, "second": d.second, "sign": d.sign, "calls": d.calls, **looked_at} for d in found)
    return as_rows("double_counts", *rows)


def _newest_calls(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """The newest delivered calls; all records are looked through only where the newest hold too few."""
    ((records,),) = connection.sql("SELECT count(*) FROM serving_records").fetchall()
    calls = _delivered(connection, _NEWEST_RECORDS)
    return calls if calls.height == _CALLS or records <= _NEWEST_RECORDS else _delivered(connection, records)


def _delivered(connection: duckdb.DuckDBPyConnection, newest: int) -> pl.DataFrame:
    return pl.DataFrame(connection.sql(_DELIVERED, params={"calls": _CALLS, "newest": newest}).to_arrow_table())
