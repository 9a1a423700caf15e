"""What became of an attempt, from what its record says. A missing error is not success.

See docs/semantics.md#success.
"""

import polars as pl

_FAILED_FINISH = {"error": "error", "abort": "cancelled", "aborted": "cancelled", "cancelled": "cancelled"}
_ERROR = pl.col("error_type").str.to_lowercase().replace("", None)
_TIMED_OUT, _LEFT = "timeout|deadline", "cancel|abort|disconnect"
_DELIVERED = (
    pl.col("finish_reason").is_not_null()
    | pl.col("http_status").is_between(200, 299)
    | ((pl.col("output_tokens") > 0) & pl.col("ended_ns").is_not_null())
)


def outcome() -> pl.Expr:
    """ok, error, timeout, cancelled or unknown from outcome, error_type, http_status, finish_reason and output_tokens.

    An outcome that the dialect already knows stays. Success needs a finish reason, a 2xx status, or output tokens
    with an end; without any sign of failure or success it is unknown.
    """
    finish = pl.col("finish_reason").replace_strict(_FAILED_FINISH, default=None)
    delivered = pl.when(_DELIVERED).then(pl.lit("ok")).otherwise(pl.lit("unknown"))
    return pl.coalesce("outcome", failure(pl.col("http_status")), finish, delivered).alias("outcome")


def failure(http_status: pl.Expr | None = None) -> pl.Expr:
    """timeout, cancelled or error by error_type, and by a status where one is given; null where neither tells one."""
    status = pl.lit(None, pl.Int64) if http_status is None else http_status
    return (
        pl.when(_ERROR.str.contains(_TIMED_OUT) | status.is_in([408, 504]))
        .then(pl.lit("timeout"))
        .when(_ERROR.str.contains(_LEFT) | (status == 499))
        .then(pl.lit("cancelled"))
        .when(_ERROR.is_not_null() | (status >= 400))
        .then(pl.lit("error"))
    )
