"""The trend detector: every window judged by the history before its day, the same way whatever the chart.

A score is a pure function of at most 30 days before it, so that a backfill gives the verdicts that a live run gave.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from goodput.monitor.control_chart import ControlChart
from goodput.monitor.grid import NAN, Flags, Floats, Grid, Ints
from goodput.monitor.inputs import Inputs, Scores
from goodput.monitor.judged_days import Identified, JudgedDays

HISTORY_DAYS = 21
LAG_DAYS = 7  # the newest days of a long history are left out, or a slow drift would become the baseline
ARM_DAYS = 7
_LEAST_WINDOWS = 14  # that make a median of distances believable, where windows are long


def least_windows(grid: Grid) -> int:
    """Windows with a value that a series needs before it is judged."""
    return max(ARM_DAYS * grid.a_day, _LEAST_WINDOWS)


def score(inputs: Inputs, chart: ControlChart, known: JudgedDays | None = None) -> Scores:
    """Score every window against the history that lay before its day; days that are `known` are not judged again."""
    shape = inputs.values.shape
    unknown = {name: np.full(shape, NAN) for name in chart.parts}
    due = np.ones((len(inputs.values), inputs.grid.days), dtype=np.bool_)
    unlearned = np.ones(shape, dtype=np.bool_)
    return _scored(inputs, chart, due, (unknown, unlearned), known or JudgedDays())


def rescore(
    inputs: Inputs,
    chart: ControlChart,
    before: Scores,
    changed: Sequence[tuple[int, int]],
    known: JudgedDays | None = None,
) -> Scores:
    """The scores `before`, after what is history changed in windows `changed` of each series.

    Only days that look back at them are judged again.
    """
    first, last = (np.array(windows)[:, None] // inputs.grid.a_day for windows in zip(*changed, strict=True))
    days = np.arange(inputs.grid.days)
    due = (days >= first) & (days < last + 1 + HISTORY_DAYS + LAG_DAYS)
    now = before.copy()
    return _scored(inputs, chart, due, (now.judged, now.learning), known or JudgedDays())


def frozen(
    inputs: Inputs, chart: ControlChart, before: Scores, windows: slice, known: JudgedDays | None = None
) -> Scores:
    """The scores `before` of one series, with `windows` judged by the history of the day of the first of them."""
    grid, day = inputs.grid, windows.start // inputs.grid.a_day
    _, lag = next(_ripe(inputs.past, _first_days(inputs.past, grid), grid, day, np.ones(1, dtype=np.bool_)))
    days = np.arange(day, -(-windows.stop // grid.a_day))
    rows, history = np.zeros_like(days), _history(grid, day, lag)
    judged = {name: part.copy() for name, part in before.judged.items()}
    for name, part in _judged(Identified(inputs, chart), rows, days, history, known or JudgedDays()).items():
        since = windows.start - day * grid.a_day
        judged[name][0, windows] = part.reshape(-1)[since : since + windows.stop - windows.start]
    return _scores(inputs, chart, judged, before.learning)


def _scored(
    inputs: Inputs, chart: ControlChart, due: Flags, before: tuple[Mapping[str, Floats], Flags], known: JudgedDays
) -> Scores:
    """Judge the days of each series that are `due` by the history before each, writing over what was so `before`."""
    grid, past, (judged, learning) = inputs.grid, inputs.past, before
    identified = Identified(inputs, chart)
    first_day = _first_days(past, grid)
    for day in range(ARM_DAYS, grid.days):
        if not due[:, day].any():
            continue
        today = slice(day * grid.a_day, (day + 1) * grid.a_day)
        learning[due[:, day], today] = True
        for part in judged.values():
            part[due[:, day], today] = NAN
        for rows, lag in _ripe(past, first_day, grid, day, due[:, day]):
            found = _judged(identified, rows, np.full_like(rows, day), _history(grid, day, lag), known)
            for name, part in judged.items():
                part[rows, today] = found[name]
            learning[rows, today] = False
    return _scores(inputs, chart, judged, learning)


def _judged(identified: Identified, rows: Ints, days: Ints, history: slice, known: JudgedDays) -> Mapping[str, Floats]:
    """What days of series usually are, each of `rows` on the one of `days`: as judged before, else by `history` now."""
    inputs, chart, a_day = identified.inputs, identified.chart, identified.inputs.grid.a_day
    keys = identified.keys(rows, days, history)
    there, blocks = known.find(identified.name, keys)
    judged, due = np.empty((len(rows), len(chart.parts), a_day)), np.ones(len(rows), dtype=np.bool_)
    judged[there], due[there] = blocks, False
    if due.any():
        judged[due] = _by_history(identified, rows[due], days[due], history)
        lasting = due & (days < inputs.grid.days - 1)  # the newest day is another one with its next window
        known.add(identified.name, keys[lasting], judged[lasting])
    return {name: judged[:, place] for place, name in enumerate(chart.parts)}


def _by_history(identified: Identified, rows: Ints, days: Ints, history: slice) -> Floats:
    """The same as days x parts x windows, of each series from its first to its last of these days in one go."""
    inputs, chart, a_day = identified.inputs, identified.chart, identified.inputs.grid.a_day
    first, series = int(days.min()), np.unique(rows)
    found = chart.judge(inputs, series, history, slice(first * a_day, (int(days.max()) + 1) * a_day))
    by_day = np.stack([found[name].reshape(len(series), -1, a_day) for name in chart.parts], axis=2)
    return np.asarray(by_day[np.searchsorted(series, rows), days - first])


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
    known: Flags = np.isfinite(past[:, _history(grid, day, lag)]).sum(axis=1) >= least_windows(grid)
    return known
