"""What each trend alarm could see, replayed over its own series: as it was, and with drifts put on top.

The false alarms to expect come from the measured study of the detector, the power from the series itself.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodput.monitor.grid import Floats, Grid
from goodput.monitor.rule_kind import Observed
from goodput.monitor.rule_series import RuleSeries, spans
from goodput.monitor.states import Debounce
from goodput.monitor.suppression import BUDGET_S
from goodput.settings.metrics import QUARTER_HOURLY, AlarmMetric

SLOW, FAST = 0.0133, 0.05  # drifts per hour: 920 to 1480 ms in 36 hours; one that doubles in 14
_REPLAYED_DAYS = 28
_HORIZON_H = 48
_BEGIN_EVERY_H = 31  # prime to the day, so that drifts begin at all hours
# False alarms in 1,000 series-days that one window at a threshold makes in noise like serving traffic's, by 84,000
# stable series-days; in between it is interpolated in the logarithm.
_THRESHOLDS = (2.0, 2.2, 2.4, 2.6, 2.8, 3.0, 3.2)
_FALSE_ALARMS = (40.2, 19.6, 8.9, 3.7, 1.33, 0.25, 0.07)
# The same of counts, over the ratios and rates of the drill: with windows of 15 minutes as with those of an hour.
_COUNT_THRESHOLDS = (3.0, 3.4, 3.6, 4.0, 4.4)
_FALSE_COUNT_ALARMS = (11.0, 3.6, 2.1, 0.6, 0.25)
_USUAL_PAGE = 3.0


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


def power_row(one: RuleSeries, observed: Observed) -> dict[str, Any]:
    """The row of alarm_power of one trend alarm, by the four weeks before the end of what is observed."""
    assert one.trend is not None  # noqa: S101
    grid, until, page_budget = observed.grid, observed.until, observed.settings.alarms.page_budget
    first = max(until - _REPLAYED_DAYS * grid.a_day, 0)
    rule = observed.rules[one.rule]
    debounce = Debounce(rule.for_windows, rule.clear_windows)
    judged = np.isfinite(one.score[first:until])
    sigma = _median(one.trend.scale[0, first:until][judged])
    slow, fast = (replay(one, grid, (first, until), drift, debounce) for drift in (SLOW, FAST))
    until_s = grid.end_s(until - 1)
    fired = sum(starts_s > until_s - BUDGET_S for _, starts_s, _ in spans(one, grid))
    why = unarmed(one, until, fired, page_budget)
    return {
        **one.named,
        "threshold": one.threshold,
        "replayed_days": float(judged.sum() / grid.a_day),
        "fired": fired,
        "budget": page_budget if one.severity == "page" else None,
        "armed": why is None,
        "why": why,
        "sigma": sigma,
        "strays": _newest(one, "strays", until),
        "tail_share": _newest(one, "share", until),
        "smallest_shift": _shift(one, sigma),
        "slow_drift_delay_s": slow.median_s,
        "fast_drift_delay_s": fast.median_s,
        "slow_drift_found_ratio": slow.found_ratio,
        "fast_drift_found_ratio": fast.found_ratio,
        "false_alarms_per_week": 0.0 if why else 7 * _expected(one, grid) / 1000,
    }


def unarmed(one: RuleSeries, until: int, fired: int, page_budget: int) -> str | None:
    """Why a trend alarm does not page now, None if it may."""
    assert one.trend is not None  # noqa: S101
    a_day = 24 * (one.panel.grid.an_hour if one.panel is not None else 1)
    newest = slice(max(until - a_day, 0), until)
    if one.severity == "page" and fired > page_budget:
        return f"fired {fired} times in 28 days, more than its budget of {page_budget}: raise its threshold, or accept"
    if np.isfinite(one.score[newest]).any():
        return None
    few = _too_few(one, newest)
    if few is not None:
        return few
    return "less than seven days of windows to learn from" if one.trend.learning[0, newest].all() else "not needed now"


def _too_few(one: RuleSeries, newest: slice) -> str | None:
    """Says that most windows of the last day have too few requests for their quantile, where they do."""
    if one.panel is None or one.requests is None or one.panel.trials is not None:
        return None
    least = one.panel.kind.least_requests
    requests = one.requests[newest][np.isfinite(one.values[newest])]
    if not len(requests) or np.median(requests) >= least:
        return None
    if requests.max() < least:
        return f"too little traffic: at most {requests.max():.0f} requests a window, {least} are needed"
    enough = (requests >= least).sum()
    return f"too little traffic: {enough} of {len(requests)} windows have the {least} requests that are needed"


def replay(one: RuleSeries, grid: Grid, span: tuple[int, int], drift: float, debounce: Debounce) -> Drifts:
    """Delays of a drift (per hour, on the metric's scale) begun again and again in what the series did."""
    assert one.trend is not None  # noqa: S101
    assert one.inputs is not None  # noqa: S101
    assert one.chart is not None  # noqa: S101
    horizon, step = _HORIZON_H * grid.an_hour, _BEGIN_EVERY_H * grid.an_hour
    lead = 24 * grid.an_hour
    starts = np.arange(span[0] + lead, span[1] - horizon, step)
    windows = starts[:, None] + np.arange(-lead, horizon)
    hours = np.maximum(np.arange(-lead, horizon) + 1, 0) / grid.an_hour
    begun = one.inputs.of(one.row).spans(windows)
    judged = {name: part[0][windows] for name, part in one.trend.judged.items()}
    level = one.chart.score(one.chart.drifted(begun, np.log1p(drift) * hours), judged)
    before, after = level[:, :lead], level[:, lead:]
    quiet = (np.isfinite(before).sum(axis=1) > lead // 2) & ~(before >= one.threshold).any(axis=1)
    return Drifts(np.array([_first(row, one.threshold, debounce) / grid.an_hour for row in after[quiet]]))


def _first(level: Floats, threshold: float, debounce: Debounce) -> float:
    """Windows until the threshold was reached as many times in a row as it takes."""
    known = np.flatnonzero(np.isfinite(level))
    over = level[known] >= threshold
    if len(over) < debounce.fire:
        return np.inf
    runs = np.asarray(np.lib.stride_tricks.sliding_window_view(over, debounce.fire).all(axis=1))
    return float(known[runs.argmax() + debounce.fire - 1] + 1) if runs.any() else np.inf


def false_alarms(threshold: float, metric: AlarmMetric, step_s: int) -> float:
    """False alarms to expect in 1,000 series-days at a threshold; quarter-hourly ones as their hourly equivalent."""
    if metric.chart != "level":
        return float(np.exp(np.interp(threshold, _COUNT_THRESHOLDS, np.log(_FALSE_COUNT_ALARMS))))
    hourly = threshold if step_s == 3600 else threshold * _USUAL_PAGE / QUARTER_HOURLY[_USUAL_PAGE]
    return float(np.exp(np.interp(hourly, _THRESHOLDS, np.log(_FALSE_ALARMS))))


def _expected(one: RuleSeries, grid: Grid) -> float:
    assert one.panel is not None  # noqa: S101
    return false_alarms(one.threshold, one.panel.kind, grid.step_s)


def _shift(one: RuleSeries, sigma: float | None) -> float | None:
    assert one.panel is not None  # noqa: S101
    if sigma is None:
        return None
    shift = one.threshold * sigma
    return float(np.expm1(shift)) if one.panel.kind.scale == "log" else shift


def _newest(one: RuleSeries, part: str, until: int) -> float | None:
    """What the chart knows by this name in its newest window; None where it knows no such thing."""
    assert one.trend is not None  # noqa: S101
    known = one.trend.judged.get(part, np.empty((1, 0)))[0, :until]
    at = np.flatnonzero(np.isfinite(known))
    return float(known[at[-1]]) if len(at) else None


def _median(values: Floats) -> float | None:
    return float(np.median(values)) if len(values) else None
