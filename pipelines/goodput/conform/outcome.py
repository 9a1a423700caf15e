"""What became of an attempt, from what its record says. A missing error is not success.

See docs/semantics.md#success.
"""

import polars as pl

_FAILED_FINISH = {"error": "error", "abort": "cancelled", "aborted": "cancelled", "cancelled": "cancelled"}
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
    error = pl.col("error_type").str.to_lowercase().replace("", None)
    return (
        pl.when(pl.col("outcome").is_not_null())
        .then(pl.col("outcome"))
        .when(error.str.contains("timeout|deadline") | pl.col("http_status").is_in([408, 504]))
        .then(pl.lit("timeout"))
        .when(error.str.contains("cancel|abort|disconnect") | (pl.col("http_status") == 499))
        .then(pl.lit("cancelled"))
        .when(error.is_not_null() | (pl.col("http_status") >= 400))
        .then(pl.lit("error"))
        .when(pl.col("finish_reason").is_in(list(_FAILED_FINISH)))
        .then(pl.col("finish_reason").replace_strict(_FAILED_FINISH, default=None))
        .when(_DELIVERED)
        .then(pl.lit("ok"))
        .otherwise(pl.lit("unknown"))
        .alias("outcome")
    )
