"""The trend detector: how far each window of a series stands above its own baseline, averaged over the last hours.

The level is charted, not the slope: a slope is noisier than the shift that it has already caused. A score is a pure
function of at most 30 days before it, so that a backfill gives the verdicts that a live run gave.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from goodput.monitor.baseline import baseline
from goodput.monitor.calendar import Calendar
from goodput.monitor.grid import NAN, Flags, Floats, Grid, Ints
from goodput.settings.metrics import HIGHEST_SCORE

HISTORY_DAYS = 21
LAG_DAYS = 7  # the newest days of a long history are left out, or a slow drift would become the baseline
ARM_DAYS = 7
CLIP = HIGHEST_SCORE  # of a window's distance in sigma: no single window makes an alarm
WEIGHT_AN_HOUR = 0.3  # of the newest hour in the average
TAPS_HOURS = 24
REACH_HOURS = 48  # windows before a longer gap no longer count
_SHORT_DAYS = 3.0  # makes false alarms in the second week as rare as later


@dataclass(frozen=True)
class Inputs:
    """Series of one kind on a grid: more is worse, NaN is no data.

    `floor` is the least sigma that is believed, `noise` (series x windows) the sampling error of a window where that
    is known, `age_h` the hours since the last restart, `aside` windows that are judged but are no history.
    """

    grid: Grid
    calendar: Calendar
    values: Floats
    floor: float
    noise: Floats | None = None
    age_h: Floats | None = None
    aside: Flags | None = None

    @property
    def past(self) -> Floats:
        """What may be history."""
        counts = self.calendar.counts if self.aside is None else self.calendar.counts & ~self.aside
        return np.where(counts, self.values, NAN)

    def of(self, row: int) -> "Inputs":
        """One series of these."""
        mine = slice(row, row + 1)
        return Inputs(
            self.grid,
            self.calendar,
            self.values[mine],
            self.floor,
            noise=None if self.noise is None else self.noise[mine],
            age_h=None if self.age_h is None else self.age_h[mine],
            aside=None if self.aside is None else self.aside[mine],
        )


@dataclass(frozen=True)
class Scores:
    """By series and window: `score` in sigma, NaN without a verdict; `residual` = value - `usual`; `scale` = sigma."""

    score: Floats
    usual: Floats
    residual: Floats
    scale: Floats
    learning: Flags


def score(inputs: Inputs) -> Scores:
    """Score every window against the history that lay before its day."""
    shape = inputs.values.shape
    unknown = np.full(shape, NAN), np.full(shape, NAN), np.ones(shape, dtype=np.bool_)
    return _scored(inputs, range(ARM_DAYS, inputs.grid.days), *unknown)


def rescore(inputs: Inputs, before: Scores, changed: tuple[int, int]) -> Scores:
    """The scores `before`, after what is history changed in windows `changed`: only days that look back at it."""
    first, last = (window // inputs.grid.a_day for window in changed)
    days = range(max(first, ARM_DAYS), min(last + 1 + HISTORY_DAYS + LAG_DAYS, inputs.grid.days))
    return _scored(inputs, days, before.usual.copy(), before.scale.copy(), before.learning.copy())


def _scored(inputs: Inputs, days: Iterable[int], usual: Floats, scale: Floats, learning: Flags) -> Scores:
    _judge_days(inputs, days, usual, scale, learning)
    residual = inputs.values - usual
    return Scores(averaged(residual / scale, inputs.grid.step_s), usual, residual, scale, learning)


def frozen_baseline(inputs: Inputs, window: int) -> tuple[Floats, Floats]:
    """Usual value and scale of every window of one series, as the day of `window` has them."""
    past = inputs.past
    day = window // inputs.grid.a_day
    rows, lag = next(_ripe(past, _first_days(past, inputs.grid), inputs.grid, day))
    return _judged(inputs, past, rows, (day, lag), slice(0, inputs.grid.windows))


def _judge_days(inputs: Inputs, days: Iterable[int], usual: Floats, scale: Floats, learning: Flags) -> None:
    """Fill in what is usual, and how far from it, on these days, by the history before each."""
    grid, past = inputs.grid, inputs.past
    first_day = _first_days(past, grid)
    for day in days:
        span = slice(day * grid.a_day, (day + 1) * grid.a_day)
        usual[:, span], scale[:, span], learning[:, span] = NAN, NAN, True
        for rows, lag in _ripe(past, first_day, grid, day):
            usual[rows, span], scale[rows, span] = _judged(inputs, past, rows, (day, lag), span)
            learning[rows, span] = False


def _first_days(past: Floats, grid: Grid) -> Ints:
    known = np.isfinite(past)
    first: Ints = np.where(known.any(axis=1), known.argmax(axis=1), past.shape[1])
    whole: Ints = -(-first // grid.a_day)
    return whole


def _history(grid: Grid, day: int, lag: int) -> slice:
    return slice(max(day - lag - HISTORY_DAYS, 0) * grid.a_day, (day - lag) * grid.a_day)


def _ripe(past: Floats, first_day: Ints, grid: Grid, day: int) -> Iterator[tuple[Ints, int]]:
    """Series that have history enough on a day, and how many of its newest days are left out."""
    old = (first_day + HISTORY_DAYS + LAG_DAYS <= day) & _enough(past, grid, day, LAG_DAYS)
    young = ~old & (first_day + ARM_DAYS <= day) & _enough(past, grid, day, 0)
    for rows, lag in ((np.flatnonzero(old), LAG_DAYS), (np.flatnonzero(young), 0)):
        if len(rows):
            yield rows, lag


def _enough(past: Floats, grid: Grid, day: int, lag: int) -> Flags:
    known: Flags = np.isfinite(past[:, _history(grid, day, lag)]).sum(axis=1) >= ARM_DAYS * grid.a_day
    return known


def _judged(inputs: Inputs, past: Floats, rows: Ints, history: tuple[int, int], today: slice) -> tuple[Floats, Floats]:
    """Usual value and scale of the windows `today` by the history of a day and its lag."""
    grid, classes = inputs.grid, inputs.calendar.classes
    then = _history(grid, *history)
    ages = None if inputs.age_h is None else inputs.age_h[rows]
    aged = None if ages is None else ages[:, then]
    base = baseline(past[rows, then], classes[then], inputs.floor, aged, grid.an_hour)
    usual = base.at(classes[today], None if ages is None else ages[:, today])
    days = np.isfinite(past[rows, then]).sum(axis=1) / grid.a_day
    scale = np.repeat((base.scale * _doubt(days))[:, None], usual.shape[1], axis=1)
    if inputs.noise is not None:
        scale = np.fmax(scale, inputs.noise[rows, today])
    return usual, scale


def _doubt(days: Floats) -> Floats:
    """How much wider a short history's own errors make the distance from its baseline, 1 for a full one."""
    widened: Floats = np.sqrt((1 + _SHORT_DAYS / days) / (1 + _SHORT_DAYS / HISTORY_DAYS))
    return widened


def _weights(step_s: int) -> Floats:
    kept = (1 - WEIGHT_AN_HOUR) ** (step_s / 3600)
    weights: Floats = (1 - kept) * kept ** np.arange(TAPS_HOURS * 3600 // step_s)
    return weights


def averaged(distance: Floats, step_s: int) -> Floats:
    """Exponential average of clipped distances over the last windows that have one; NaN where there is none.

    A window without a distance neither counts nor ages the others.
    """
    known = np.isfinite(distance)
    order = np.argsort(~known, axis=1, kind="stable")  # windows with a value, moved together
    packed = np.nan_to_num(np.take_along_axis(np.clip(distance, -CLIP, CLIP), order, axis=1))
    reach = REACH_HOURS * 3600 // step_s
    total = np.zeros_like(packed)
    for back, weight in enumerate(_weights(step_s)[: packed.shape[1]]):
        until = packed.shape[1] - back
        near = order[:, back:] - order[:, :until] <= reach
        total[:, back:] += np.where(near, weight * packed[:, :until], 0.0)
    spread = np.empty_like(total)
    np.put_along_axis(spread, order, total, axis=1)
    return np.where(known, spread, NAN)
