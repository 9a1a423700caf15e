"""The trend detector: every window judged by the history before its day, the same way whatever the chart.

A score is a pure function of at most 30 days before it, so that a backfill gives the verdicts that a live run gave.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from goodput.monitor.control_chart import ControlChart
from goodput.monitor.grid import NAN, Flags, Floats, Grid, Ints
from goodput.monitor.inputs import Inputs, Scores

HISTORY_DAYS = 21
LAG_DAYS = 7  # the newest days of a long history are left out, or a slow drift would become the baseline
ARM_DAYS = 7


def score(inputs: Inputs, chart: ControlChart) -> Scores:
    """Score every window against the history that lay before its day."""
    shape = inputs.values.shape
    unknown = {name: np.full(shape, NAN) for name in chart.parts}
    due = np.ones((len(inputs.values), inputs.grid.days), dtype=np.bool_)
    return _scored(inputs, chart, due, unknown, np.ones(shape, dtype=np.bool_))


def rescore(inputs: Inputs, chart: ControlChart, before: Scores, changed: Sequence[tuple[int, int]]) -> Scores:
    """The scores `before`, after what is history changed in windows `changed` of each series.

    Only days that look back at them are judged again.
    """
    first, last = (np.array(windows)[:, None] // inputs.grid.a_day for windows in zip(*changed, strict=True))
    days = np.arange(inputs.grid.days)
    due = (days >= first) & (days < last + 1 + HISTORY_DAYS + LAG_DAYS)
    known = before.copy()
    return _scored(inputs, chart, due, known.judged, known.learning)


def frozen(inputs: Inputs, chart: ControlChart, before: Scores, window: int) -> Scores:
    """The scores `before` of one series, with every window from `window` on judged by the history of its day."""
    day = window // inputs.grid.a_day
    due = np.ones(1, dtype=np.bool_)
    rows, lag = next(_ripe(inputs.past, _first_days(inputs.past, inputs.grid), inputs.grid, day, due))
    judged = dict(chart.judge(inputs, rows, _history(inputs.grid, day, lag), slice(0, inputs.grid.windows)))
    for name, part in judged.items():
        judged[name] = np.concatenate([before.judged[name][:, :window], part[:, window:]], axis=1)
    return _scores(inputs, chart, judged, before.learning)


def _scored(inputs: Inputs, chart: ControlChart, due: Flags, judged: Mapping[str, Floats], learning: Flags) -> Scores:
    """Judge the days of each series that are `due` by the history before each, writing over `judged` and `learning`."""
    grid, past = inputs.grid, inputs.past
    first_day = _first_days(past, grid)
    for day in range(ARM_DAYS, grid.days):
        if not due[:, day].any():
            continue
        today = slice(day * grid.a_day, (day + 1) * grid.a_day)
        learning[due[:, day], today] = True
        for part in judged.values():
            part[due[:, day], today] = NAN
        for rows, lag in _ripe(past, first_day, grid, day, due[:, day]):
            found = chart.judge(inputs, rows, _history(grid, day, lag), today)
            for name, part in judged.items():
                part[rows, today] = found[name]
            learning[rows, today] = False
    return _scores(inputs, chart, judged, learning)


def _scores(inputs: Inputs, chart: ControlChart, judged: Mapping[str, Floats], learning: Flags) -> Scores:
    return Scores(chart.score(inputs, judged), chart.residual(inputs, judged), learning, judged)


def _first_days(past: Floats, grid: Grid) -> Ints:
    known = np.isfinite(past)
    first: Ints = np.where(known.any(axis=1), known.argmax(axis=1), past.shape[1])
    whole: Ints = -(-first // grid.a_day)
    return whole


def _history(grid: Grid, day: int, lag: int) -> slice:
    return slice(max(day - lag - HISTORY_DAYS, 0) * grid.a_day, (day - lag) * grid.a_day)


def _ripe(past: Floats, first_day: Ints, grid: Grid, day: int, due: Flags) -> Iterator[tuple[Ints, int]]:
    """Series that are due and have history enough on a day, and how many of its newest days are left out."""
    old = due & (first_day + HISTORY_DAYS + LAG_DAYS <= day) & _enough(past, grid, day, LAG_DAYS)
    young = due & ~old & (first_day + ARM_DAYS <= day) & _enough(past, grid, day, 0)
    for rows, lag in ((np.flatnonzero(old), LAG_DAYS), (np.flatnonzero(young), 0)):
        if len(rows):
            yield rows, lag


def _enough(past: Floats, grid: Grid, day: int, lag: int) -> Flags:
    known: Flags = np.isfinite(past[:, _history(grid, day, lag)]).sum(axis=1) >= ARM_DAYS * grid.a_day
    return known
