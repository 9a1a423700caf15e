"""Facts that follow from the facts received, filled in the same way for every dialect."""

import polars as pl

from goodput.conform.outcome import failure, outcome


def derive(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Fill what follows from what was received; a fact that was received always stays.

    See docs/semantics.md#one-attempt-several-records.
    """
    if table == "span_links":
        return frame.with_columns(outcome=pl.coalesce("outcome", failure()))
    if table != "serving_records":
        return frame
    start = pl.col("started_ns")
    times = frame.with_columns(
        ended_ns=pl.coalesce("ended_ns", start + _ns("e2e_s")),
        first_token_ns=pl.coalesce("first_token_ns", start + _ns("ttft_s")),
    )
    durations = times.with_columns(
        e2e_s=pl.coalesce("e2e_s", _seconds(pl.col("ended_ns") - start)),
        ttft_s=pl.coalesce("ttft_s", _seconds(pl.col("first_token_ns") - start)),
    )
    return durations.with_columns(outcome())


def _seconds(nanoseconds: pl.Expr) -> pl.Expr:
    # An instant before the start is what its row is refused for, not a duration that nobody gave.
    return pl.when(nanoseconds >= 0).then(nanoseconds / 1e9)


def _ns(column: str) -> pl.Expr:
    # NaN and infinite durations become no instant here; the contract refuses their rows.
    return (pl.col(column) * 1e9).round().cast(pl.Int64, strict=False)
