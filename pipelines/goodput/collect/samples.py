"""Readings of metrics, however they were received, into sample records.

A reading is one number of one series at one time. What a series means is `series`' work; bytes are the readers'.
"""

import polars as pl

from goodput.collect.received import Received, RefusedRow
from goodput.collect.series import RESOURCE, Feed, context, family, is_left_out, read_series
from goodput.settings.model import Settings

# What a reading says of its series; the rest is line, position, start_ns, time_ns and value.
_OF_SERIES = ("emitted", "type", "temporality", "description", "labels")
_NO_TIME = "nothing says when it was read: it has no time of its own, nor is it in a scrape called <unix time>.prom"


def take_samples(
    received: Received, readings: pl.DataFrame, settings: Settings, feed: Feed, target: str | None = None
) -> None:
    """Add sample records to a block; readings that are none are counted as ignored or refused.

    `readings`: columns line, position, emitted, type, temporality, description, labels, start_ns, time_ns, value,
    total, bucket_bounds, bucket_counts, from_zero where it is told, and any `resource.` columns; `target` names the
    replica of readings that name none. Counting them as read is the caller's work.
    """
    if not readings.height:
        return
    if "from_zero" not in readings.columns:
        readings = readings.with_columns(from_zero=pl.lit(None, pl.Boolean))
    on = [name for name in readings.columns if name in _OF_SERIES or name.startswith(RESOURCE)]
    distinct = readings.select(on).unique(maintain_order=True)
    series = read_series(distinct, context(settings, feed, target))
    numbered = distinct.with_row_index("series")
    rows = readings.join(numbered, on=on, how="left", nulls_equal=True, maintain_order="left").select(
        *("line", "position", "start_ns", "from_zero", "time_ns", "value", "total", "bucket_bounds", "bucket_counts"),
        "series",
    )
    rows = rows.join(series, on="series", how="left", maintain_order="left")
    rows = _without_unknown(received, rows)
    rows = _leave_out(received, rows, "metric_left_out", pl.col("meaning") == "left out")
    _refuse(received, rows.filter(pl.col("wrong").is_not_null()))
    rows = rows.filter(pl.col("wrong").is_null())
    rows = _leave_out(received, rows, "metric_without_value", pl.col("value").is_null() | pl.col("value").is_nan())
    timeless = pl.col("time_ns").is_null()
    for line, position, name in rows.filter(timeless).select("line", "position", "emitted").iter_rows():
        reason = f"{name}: {_NO_TIME}"
        received.refused.append(RefusedRow(line, position, "sample_records", "sample_without_time", reason, None))
    rows = rows.filter(~timeless)
    if rows.height:
        kind, scale = pl.col("kind"), pl.col("scale")
        records = rows.with_columns(
            record_id=pl.concat_str("series_id", pl.col("time_ns").cast(pl.String), separator=":"),
            sampled_ns="time_ns",
            value=pl.when(kind == "histogram").then("value").otherwise(pl.coalesce("labelled", "value") * scale),
            total=pl.col("total") * scale,
            bucket_bounds=pl.col("bucket_bounds") * scale,
        )
        received.add("sample_records", records.drop("series", "meaning", "wrong", "scale", "labelled", "time_ns"))


def _without_unknown(received: Received, rows: pl.DataFrame) -> pl.DataFrame:
    is_unknown = pl.col("meaning") == "unknown"
    if not rows["meaning"].eq("unknown").any():
        return rows
    name = family(pl.col("emitted")).fill_null("")
    names = (
        rows.filter(is_unknown).group_by(name.alias("name")).agg(readings=pl.len(), left_out=is_left_out(name).first())
    )
    received.leave_out_metrics(names)
    return rows.filter(~is_unknown)


def _leave_out(received: Received, rows: pl.DataFrame, rule: str, holds: pl.Expr) -> pl.DataFrame:
    kept = rows.filter(~holds.fill_null(value=False))
    received.ignore(rule, rows.height - kept.height)
    return kept


def _refuse(received: Received, rows: pl.DataFrame) -> None:
    for line, position, meaning, wrong in rows.select("line", "position", "meaning", "wrong").iter_rows():
        rule = "metric_meaning_unknown" if meaning == "ambiguous" else "metric_type_differs"
        received.refused.append(RefusedRow(line, position, "sample_records", rule, wrong, None))
