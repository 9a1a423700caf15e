"""Histograms as Prometheus writes them, a line for each bucket, to one reading each."""

from collections.abc import Collection

import polars as pl

BOUND = "bound"  # column of readings: upper bound of the bucket, of lines that are one
_PARTS = r"_(bucket|sum|count)$"


def fold_histograms(readings: pl.DataFrame, histograms: Collection[str]) -> pl.DataFrame:
    """Readings in which the lines of each histogram are one, called as it is; column BOUND is gone.

    New columns: `total` (sum of what was observed), `bucket_bounds` (finite upper bounds, ascending) and
    `bucket_counts` (observed up to each). `value` of a histogram is how many were observed. Lines of a histogram
    without any bucket make none.
    """
    name = pl.col("emitted").str.replace(_PARTS, "")
    is_part = ((pl.col("emitted") != name) & name.is_in(list(histograms))).fill_null(value=False)
    parts = readings.filter(is_part)
    whole = readings.filter(~is_part).drop(BOUND)
    if not parts.height:
        return whole.with_columns(
            total=pl.lit(None, pl.Float64),
            bucket_bounds=pl.lit(None, pl.List(pl.Float64)),
            bucket_counts=pl.lit(None, pl.List(pl.Float64)),
        )
    part = pl.col("emitted").str.extract(_PARTS)
    is_bucket = part == "bucket"
    value, bound = pl.col("value"), pl.col(BOUND)
    is_finite = is_bucket & bound.is_finite() & value.is_not_nan()
    of_all = value.filter(is_bucket & bound.is_infinite()).first()
    return pl.concat(
        [
            whole,
            parts.group_by(name.alias("name"), "labels", "time_ns", maintain_order=True)
            .agg(
                pl.col("line", "position").first(),
                pl.col("description", "type", "temporality", "start_ns", "from_zero").drop_nulls().first(),
                value=pl.coalesce(value.filter(part == "count").first(), of_all),
                total=value.filter(part == "sum").first(),
                bucket_bounds=bound.filter(is_finite).sort(),
                bucket_counts=value.filter(is_finite).sort_by(bound.filter(is_finite)),
                has_buckets=is_bucket.any(),
            )
            .filter("has_buckets")
            .drop("has_buckets")
            .rename({"name": "emitted"}),
        ],
        how="diagonal_relaxed",
    )
