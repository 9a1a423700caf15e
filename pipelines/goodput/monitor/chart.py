"""The series behind each alarm: what it saw around the last time that it fired, for whoever shows it.

It picks the windows; no verdict is made, and how it looks is not this stage's work.
"""

from collections.abc import Iterable

import numpy as np
import polars as pl

from goodput.monitor.grid import DAY_S, NAN
from goodput.monitor.rule_kind import rule_kind
from goodput.monitor.rule_series import RuleSeries, spans

_BEFORE_S = 7 * DAY_S  # a week: what the hours and days of the series usually are is seen beside what they became
_AFTER_S = DAY_S
_LONGEST_S = 28 * DAY_S
_COLUMNS: dict[str, type[pl.DataType] | pl.DataType] = {
    **{"alarm_id": pl.String, "window_start": pl.Datetime("us", "UTC"), "window_s": pl.Int32, "quantity": pl.String},
    **{"value": pl.Float64, "usual": pl.Float64, "bound": pl.Float64, "score": pl.Float64},
}


def alarm_series(everything: Iterable[RuleSeries], until_s: int) -> pl.DataFrame:
    """Rows of `alarm_series`: of each alarm that fired, the windows around the last time, none after `until_s`.

    An alarm that has been over for longer than 28 days has none.
    """
    frames = [_frame(one, shown) for one in everything if (shown := _shown(one, until_s))]
    return pl.concat([pl.DataFrame(schema=_COLUMNS), *frames])


def _shown(one: RuleSeries, until_s: int) -> range | None:
    fired, grid = list(spans(one)), one.grid
    if not fired:
        return None
    _, starts_s, ends_s = fired[-1]
    if ends_s is not None and ends_s < until_s - _LONGEST_S:
        return None
    last_s = until_s if ends_s is None else min(ends_s + _AFTER_S, until_s)
    first_s = max(starts_s - _BEFORE_S, last_s - _LONGEST_S, grid.start_s)
    return range((first_s - grid.start_s) // grid.step_s, grid.until(last_s))


def _frame(one: RuleSeries, shown: range) -> pl.DataFrame:
    kind, grid = rule_kind(one.kind), one.grid
    usual, bound = kind.lines(one)
    span = slice(shown.start, shown.stop)
    starts = grid.start_s + grid.step_s * np.arange(shown.start, shown.stop)
    score = one.score if kind.shows_score else np.full(len(one.score), NAN)
    numbers = {"value": one.values, "usual": usual, "bound": bound, "score": score}
    frame = pl.DataFrame({name: pl.Series(values[span], nan_to_null=True) for name, values in numbers.items()})
    return frame.select(
        alarm_id=pl.lit(one.named["alarm_id"]),
        window_start=pl.Series(starts * 1_000_000).cast(pl.Datetime("us")).dt.replace_time_zone("UTC"),
        window_s=pl.lit(grid.step_s, pl.Int32),
        quantity=pl.lit(kind.quantity(one)),
        **{name: pl.when(pl.col(name).is_finite()).then(pl.col(name)) for name in numbers},
    )
