"""Readings of metrics, however they were received, into sample records.

A reading is one number of one series at one time. What a series means is `series`' work; bytes are the readers'.
"""

import polars as pl

from goodput.collect.received import Received, RefusedRow
from goodput.collect.series import RESOURCE, Feed, context, family, is_left_out, read_series
from goodput.settings.model import Settings

# What a reading says of its series, and the rest.
_OF_SERIES = ("emitted", "type", "temporality", "description", "labels")
_OF_READINGS = (
    *("line", "position", "start_ns", "from_zero", "time_ns"),
    *("value", "total", "bucket_bounds", "bucket_counts"),
)
_NO_TIME = "nothing says when it was read: it has no time of its own, nor is it in a scrape called <unix time>.prom"


def take_samples(
    received: Received, readings: pl.DataFrame, settings: Settings, feed: Feed, target: str | None = None
) -> None:
    """Add sample records to a block; readings that are none are counted as ignored or refused.

    `readings`: columns line, position, emitted, type, temporality, description, labels, start_ns, time_ns, value,
    total, bucket_bounds, bucket_counts, from_zero where it is reported, and any `resource.` columns; `target` names the
    replica of readings that name none. Counting them as read is the caller's work.
    """
    if not readings.height:
        return
    if "from_zero" not in readings.columns:
        readings = readings.with_columns(from_zero=pl.lit(None, pl.Boolean))
    on = [name for name in readings.columns if name in _OF_SERIES or name.startswith(RESOURCE)]
    distinct = readings.select(on).unique(maintain_order=True)
    series = read_series(distinct, context(settings, feed, target))
    if distinct.height == readings.height:  # as in a scrape
        rows = pl.concat([readings.select(_OF_READINGS), series], how="horizontal")
    else:
        numbered = distinct.with_row_index("series")
        rows = (
            readings.lazy()
            .join(numbered.lazy(), on=on, how="left", nulls_equal=True, maintain_order="left")
            .select(*_OF_READINGS, "series")
            .join(series.with_row_index("series").lazy(), on="series", how="left", maintain_order="left")
            .drop("series")
            .collect()
        )
    rows = _without_unknown(received, rows)
    rows = _leave_out(received, rows, "metric_left_out", rows["meaning"] == "left out")
    rows = _without_wrong(received, rows)
    rows = _leave_out(received, rows, "metric_without_value", rows["value"].is_null() | rows["value"].is_nan())
    rows = _without_timeless(received, rows)
    if rows.height:
        kind, scale = pl.col("kind"), pl.col("scale")
        records = rows.with_columns(
            record_id=pl.concat_str("series_id", pl.col("time_ns").cast(pl.String), separator=":"),
            sampled_ns="time_ns",
            value=pl.when(kind == "histogram").then("value").otherwise(pl.coalesce("labelled", "value") * scale),
            total=pl.col("total") * scale,
            bucket_bounds=pl.col("bucket_bounds") * scale,
        )
        received.add("sample_records", records.drop("meaning", "wrong", "scale", "labelled", "time_ns"))


def _without_unknown(received: Received, rows: pl.DataFrame) -> pl.DataFrame:
    is_unknown = rows["meaning"] == "unknown"
    if not is_unknown.any():
        return rows
    name = family(pl.col("emitted")).fill_null("")
    for _, own, mine in received.by_file(rows.filter(is_unknown)):
        names = mine.group_by(name.alias("name")).agg(readings=pl.len(), left_out=is_left_out(name).first())
        own.leave_out_metrics(names)
    return rows.filter(~is_unknown)


def _leave_out(received: Received, rows: pl.DataFrame, rule: str, holds: pl.Series) -> pl.DataFrame:
    if not holds.any():
        return rows
    received.ignore(rule, rows["line"].filter(holds))
    return rows.filter(~holds)


def _without_timeless(received: Received, rows: pl.DataFrame) -> pl.DataFrame:
    timeless = rows["time_ns"].is_null()
    if not timeless.any():
        return rows
    for line, position, name in rows.filter(timeless).select("line", "position", "emitted").iter_rows():
        reason = f"{name}: {_NO_TIME}"
        received.refused.append(RefusedRow(line, position, "sample_records", "sample_without_time", reason, None))
    return rows.filter(~timeless)


def _without_wrong(received: Received, rows: pl.DataFrame) -> pl.DataFrame:
    is_wrong = rows["wrong"].is_not_null()
    if not is_wrong.any():
        return rows
    refused = rows.filter(is_wrong).select("line", "position", "meaning", "wrong")
    for line, position, meaning, wrong in refused.iter_rows():
        rule = "metric_meaning_unknown" if meaning == "ambiguous" else "metric_type_differs"
        received.refused.append(RefusedRow(line, position, "sample_records", rule, wrong, None))
    return rows.filter(~is_wrong)
