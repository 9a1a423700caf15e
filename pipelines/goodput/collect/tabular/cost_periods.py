"""Lines of costs of a source of the settings that begin and end at one instant, such as a day's with but one date.

What a period is spent on is the ledger's work.
"""

import polars as pl

from goodput.settings.sources import SPENT_AT_ONCE

RULE = "period_is_an_instant"
REASON = (
    "period_end is period_start, so that all of the cost would fall on one instant: where the line gives but its day, "
    "or its last day, `plus_s = 86400` beside the unit of period_end makes it the end of that day"
)
_PRICE_NOTHING = ("credit", "tax", "adjustment")  # charge categories


def are_instants(rows: pl.DataFrame) -> pl.Series:
    """Which lines have no time over which to spend what they charge, and need one: credits, and costs of one request
    or session, do not."""
    if not {"period_start", "period_end"} <= {*rows.columns}:
        return pl.repeat(value=False, n=rows.height, eager=True)
    free = [pl.col(name).is_not_null() for name in SPENT_AT_ONCE if name in rows.columns]
    if "charge_category" in rows.columns:
        category = pl.col("charge_category").str.strip_chars().str.to_lowercase()
        free.append(category.is_in(_PRICE_NOTHING).fill_null(value=False))
    instant = (pl.col("period_start") == pl.col("period_end")).fill_null(value=False)
    return rows.select((instant & ~pl.any_horizontal(free) if free else instant).alias("instant"))["instant"]
