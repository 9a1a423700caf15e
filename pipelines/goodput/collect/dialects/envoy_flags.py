"""What became of a request by Envoy's response flags and code, which its access logs and its spans share."""

import polars as pl

_GONE = ("DC", "DR")  # the downstream connection ended, or was reset, before the answer was over
_TIMED_OUT = ("UT", "SI", "DT", "UMSDR")
_HARMLESS = ("DI", "-", "")  # a delay that was injected, and no flag at all


def outcome(flags: pl.Expr, status: pl.Expr) -> pl.Expr:
    """cancelled, timeout or error where flags (comma-separated) or code decide it; NULL leaves it to the status."""
    return (
        pl.when(_any_of(flags, _GONE) | (status == 0))
        .then(pl.lit("cancelled"))
        .when(_any_of(flags, _TIMED_OUT))
        .then(pl.lit("timeout"))
        .when(failed(flags).is_not_null())
        .then(pl.lit("error"))
    )


def failed(flags: pl.Expr) -> pl.Expr:
    """The flags where they report a failure, else NULL."""
    named = flags.str.split(",").list.set_difference(list(_HARMLESS)).list.len() > 0
    return pl.when(named).then(flags)


def _any_of(flags: pl.Expr, some: tuple[str, ...]) -> pl.Expr:
    return flags.str.split(",").list.set_intersection(list(some)).list.len() > 0
