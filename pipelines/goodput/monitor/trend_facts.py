"""Facts of an alarm that compares a series with its own past: shape, slope, excess, and where they lead."""

from typing import Any

import numpy as np

from goodput.monitor.alarm_context import AlarmContext
from goodput.monitor.causes import MARKS, concerns
from goodput.monitor.explain import Fact, number
from goodput.monitor.grid import Floats, Grid, medians
from goodput.monitor.mix import mix_facts
from goodput.monitor.panel import worse
from goodput.monitor.rule_series import RuleSeries
from goodput.monitor.scales import on_scale
from goodput.monitor.shape import Onset, Shape, median_slope, onset_of, shape_of
from goodput.monitor.words import timestamp

_TAIL_ONLY = 0.25  # the median moved by less than this part of what the tail did


def trend_facts(one: RuleSeries, at: int, context: AlarmContext) -> dict[str, Fact]:
    """Facts as of a window; a fact that is not known is None or left out."""
    assert one.trend is not None  # noqa: S101
    assert one.panel is not None  # noqa: S101
    assert one.chart is not None  # noqa: S101
    assert one.inputs is not None  # noqa: S101
    reading = one.chart.reading(one.inputs.of(one.row), one.trend, at)
    grid, residual = one.grid, _since_the_last(one, reading.residual[: at + 1])
    onset = _onset(one, at, context)
    shape = shape_of(residual, grid, onset)
    excess = _averaged_residual(_since_the_last(one, reading.over[: at + 1]), grid)
    facts: dict[str, Fact] = {
        "scale": one.panel.kind.scale,
        "window_s": grid.step_s,
        "chart": reading.chart,
        "sigma": number(reading.scale[at]),
        "strays": number(reading.strays),
        "onset_at": timestamp(grid.end_s(onset.window - 1)),
        "began_earlier": onset.is_earlier or None,
        "shape": shape.kind,
        "slope_per_hour": number(shape.slope) if shape.kind == "ramp" else None,
        "median_slope_per_hour": number(median_slope(residual, grid)),
        "excess": number(excess),
    }
    if one.panel.kind.per != "replica":
        facts["usual_of"] = _alike(int(one.inputs.calendar.classes[at]), one.grid)
    if one.panel.kind.scale == "log":
        facts["excess_ratio"] = number(np.expm1(_upward(one, excess)))
        facts |= {f"{name}_ratio": number(np.expm1(part[at])) for name, part in reading.explained.items()}
    facts |= _when_fired(one, at)
    facts |= _beside(one, at, onset, excess)
    facts |= mix_facts(one, at, onset.window, context)
    return facts | _leads_to(one, at, shape, context)


def _onset(one: RuleSeries, at: int, context: AlarmContext) -> Onset:
    """Onset as it was seen when the alarm fired: it does not move while that goes on, and is never later."""
    assert one.trend is not None  # noqa: S101
    assert one.chart is not None  # noqa: S101
    assert one.inputs is not None  # noqa: S101
    fired = _fired(one, at)
    residual = one.chart.reading(one.inputs.of(one.row), one.trend, fired).residual[: fired + 1]
    meant = [o.at_s for o in context.operations if o.kind in MARKS and concerns(o, dict(one.labels))]
    marks = [(at_s - one.grid.start_s) / one.grid.step_s for at_s in meant]
    return onset_of(_since_the_last(one, residual), one.grid, marks)


def _fired(one: RuleSeries, at: int) -> int:
    """The window with which it fired last."""
    return max((e.firing for e in one.episodes if e.firing is not None and e.firing <= at), default=at)


def _when_fired(one: RuleSeries, at: int) -> dict[str, Fact]:
    """What was seen and usual when it fired, if the window's own value is not even half as far from usual by now."""
    assert one.panel is not None  # noqa: S101
    fired = _fired(one, at)
    kind, windows = one.panel.kind, np.array([fired, at])
    then, now = worse(kind, one.values[windows]) - worse(kind, one.usual[windows])
    if not (then > 0 and now < then / 2):
        return {}
    return {"value_when_fired": number(one.values[fired]), "usual_when_fired": number(one.usual[fired])}


def _alike(one: int, grid: Grid) -> str:
    """Windows that what is usual is of, in the settings' time zone."""
    days = f"on days {'off' if one >= 24 else 'of work'}"
    return days if grid.a_day == 1 else f"at {one % 24:02d}:00 {days}"


def _since_the_last(one: RuleSeries, residual: Floats) -> Floats:
    """Residuals without those up to the end of an earlier episode: what was over is no part of what happens now."""
    ended = [e.resolved for e in one.episodes if e.resolved is not None and e.resolved < len(residual) - 1]
    return np.where(np.arange(len(residual)) > max(ended, default=-1), residual, np.nan)


def _upward(one: RuleSeries, moved: float) -> float:
    assert one.panel is not None  # noqa: S101
    return -moved if one.panel.kind.worse == "down" else moved


def _averaged_residual(residual: Floats, grid: Grid) -> float:
    """Newest level of the residual itself, by the weights of the score but without its clipping."""
    known = residual[np.isfinite(residual)][-grid.hours(24) :]
    weights = 0.7 ** (np.arange(len(known))[::-1] * grid.step_h)
    return float((known * weights).sum() / weights.sum()) if len(known) else float("nan")


def _beside(one: RuleSeries, at: int, onset: Onset, excess: float) -> dict[str, Fact]:
    """How the median of the same quantity changed since the onset: the whole distribution moved, or its tail alone."""
    assert one.panel is not None  # noqa: S101
    if one.panel.beside is None:
        return {}
    grid, median = one.panel.grid, on_scale(one.panel.kind, one.panel.beside[one.row])
    since = np.arange(onset.window, at + 1)[-grid.hours(6) :]
    before = [since - day * grid.a_day for day in grid.days_before(onset.window, at)]
    usual = medians(np.stack([_at(median, windows) for windows in before], axis=1))
    change = float(medians((_at(median, since) - usual)[None, :])[0])
    if not np.isfinite(change):
        return {}
    return {"median_change_ratio": number(np.expm1(change)), "tail_only": abs(change) < _TAIL_ONLY * abs(excess)}


def _at(values: Floats, windows: np.ndarray[Any, np.dtype[np.int64]]) -> Floats:
    return np.where(windows >= 0, values[np.maximum(windows, 0)], np.nan)


def _leads_to(one: RuleSeries, at: int, shape: Shape, context: AlarmContext) -> dict[str, Fact]:
    """Hours until the series' limit at the slope that it has now; 0: it is there."""
    assert one.panel is not None  # noqa: S101
    workload = dict(one.labels).get("workload", "")
    limit = context.limits.get((workload, str(one.metric)), context.limits.get(("", str(one.metric))))
    if limit is None or one.panel.kind.per == "replica" or not np.isfinite(one.values[at]):
        return {}
    there, here = on_scale(one.panel.kind, np.array([limit, one.values[at]]))
    left = float(_upward(one, there - here))
    facts: dict[str, Fact] = {"limit": limit}
    if left <= 0:
        return facts | {"hours_to_limit": 0.0}
    return facts | {"hours_to_limit": number(left / shape.slope)} if shape.slope > 0 else facts
