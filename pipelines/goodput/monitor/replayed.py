"""Drifts put on top of what series did, again and again, and how long each would have stayed unseen.

Series that share a chart are replayed together, so many at a time that what is computed stays in the processor's cache.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from goodput.monitor.grid import Flags, Floats, Grid, Ints
from goodput.monitor.inputs import Judged
from goodput.monitor.rule_series import RuleSeries

_LEAD_H, _HORIZON_H = 24, 48  # that a series is quiet before a drift begins, and within which it is to be found
_BEGIN_EVERY_H = 31  # prime to the day, so that drifts begin at all hours
_TOGETHER = 32  # series


@dataclass(frozen=True)
class Drifts:
    """Delays in hours of one kind of drift from each of its onsets; inf: not found within two days."""

    delays: Floats

    @property
    def median_s(self) -> float | None:
        """Median delay in seconds, None where half of them were not found."""
        middle = float(np.quantile(self.delays, 0.5, method="inverted_cdf")) if len(self.delays) else np.inf
        return middle * 3600 if np.isfinite(middle) else None

    @property
    def found_ratio(self) -> float | None:
        """Share that was found, None without any onset."""
        return float(np.isfinite(self.delays).mean()) if len(self.delays) else None


@dataclass(frozen=True)
class Replay:
    """What is replayed: windows of a grid from the first of `span` to before its last; `fire` in a row are an alarm."""

    grid: Grid
    span: tuple[int, int]
    fire: int


def replayed(how: Replay, series: Sequence[RuleSeries], drift: float, thresholds: Floats) -> Iterator[Drifts]:
    """Of each of these series, which share chart and inputs, the delays of a drift at its threshold.

    The drift (an hour, on the metric's scale) begins again and again, only where nothing fired in the day before.
    """
    grid = how.grid
    lead, horizon = grid.hours(_LEAD_H), grid.hours(_HORIZON_H)
    starts = np.arange(how.span[0] + lead, how.span[1] - horizon, grid.hours(_BEGIN_EVERY_H))
    windows = starts[:, None] + np.arange(-lead, horizon)
    within_h = max(grid.step_h - 1, 0) / 2  # a long window is on average so far behind its end
    grown = np.log1p(drift) * np.maximum((np.arange(-lead, horizon) + 1) * grid.step_h - within_h, 0)
    for first in range(0, len(series), _TOGETHER):
        some = series[first : first + _TOGETHER]
        level = _drifted(some, windows, grown)
        threshold = np.repeat(thresholds[first : first + _TOGETHER], len(starts))[:, None]
        before, after = level[:, :lead], level[:, lead:]
        quiet = (np.isfinite(before).sum(axis=1) > lead // 2) & ~(before >= threshold).any(axis=1)
        delays = _reached(after, threshold, how.fire) * grid.step_h
        for row in range(len(some)):
            mine = slice(row * len(starts), (row + 1) * len(starts))
            yield Drifts(delays[mine][quiet[mine]])


def _drifted(series: Sequence[RuleSeries], windows: Ints, grown: Floats) -> Floats:
    """Scores of all stretches `windows` (stretches x length) of each series, one series after the other."""
    inputs, chart = series[0].inputs, series[0].chart
    assert inputs is not None  # noqa: S101
    assert chart is not None  # noqa: S101
    begun = inputs.stretches(np.array([one.row for one in series]), windows)
    return chart.score(chart.drifted(begun, grown), _judged(series, windows))


def _judged(series: Sequence[RuleSeries], windows: Ints) -> Judged:
    trends = [one.trend for one in series if one.trend is not None]
    return {name: np.concatenate([trend.judged[name][0][windows] for trend in trends]) for name in trends[0].judged}


def _reached(level: Floats, threshold: Floats, fire: int) -> Floats:
    """Windows until each row was at its threshold so many times in a row, those without a verdict left out."""
    order = np.argsort(~np.isfinite(level), axis=1, kind="stable")
    over = np.take_along_axis(level >= threshold, order, axis=1)
    fired: Flags = over.copy()
    for back in range(1, fire):
        fired[:, back:] &= over[:, :-back]
        fired[:, :back] = False
    first = fired.argmax(axis=1)
    at = np.take_along_axis(order, first[:, None], axis=1)[:, 0]
    return np.where(fired.any(axis=1), at + 1.0, np.inf)
