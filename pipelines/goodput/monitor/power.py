"""What each trend alarm could see, replayed over its own series: as it was, and with drifts put on top.

The false alarms to expect come from the measured study of the detector, the power from the series itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from goodput.monitor.grid import Floats, Grid
from goodput.monitor.replayed import Drifts, Replay, replayed
from goodput.monitor.rule_kind import Observed
from goodput.monitor.rule_series import RuleSeries, spans, too_few_requests
from goodput.monitor.suppression import BUDGET_S
from goodput.settings.metrics import QUARTER_HOURLY, AlarmMetric

DRIFTS = {"2pct": 0.02, "5pct": 0.05, "10pct": 0.10}  # an hour, on the scale of the metric
_REPLAYED_DAYS = 28
# False alarms in 1,000 series-days that one window at a threshold makes in noise like serving traffic's, by 84,000
# stable series-days; in between it is interpolated in the logarithm.
_THRESHOLDS = (2.0, 2.2, 2.4, 2.6, 2.8, 3.0, 3.2)
_FALSE_ALARMS = (40.2, 19.6, 8.9, 3.7, 1.33, 0.25, 0.07)
# The same of counts, by 136,500 series-days of the drill; with windows of 15 minutes they are much the same.
_COUNT_THRESHOLDS = (3.0, 3.4, 3.6, 4.0, 4.4)
_FALSE_COUNT_ALARMS = (7.4, 2.5, 1.45, 0.49, 0.18)
_USUAL_PAGE = 3.0


def power_rows(series: Sequence[RuleSeries], observed: Observed) -> Iterator[dict[str, Any]]:
    """Rows of alarm_power of trend alarms, by the four weeks before the end of what is observed."""
    shared: dict[tuple[int, int], list[RuleSeries]] = {}
    for one in series:
        shared.setdefault((id(one.inputs), _patience(one, observed)), []).append(one)
    span = replayed_span(observed)
    for (_, fire), some in shared.items():
        thresholds = np.array([one.threshold for one in some])
        how = Replay(observed.grid, span, fire)
        drifts = [replayed(how, some, drift, thresholds) for drift in DRIFTS.values()]
        for one, *found in zip(some, *drifts, strict=True):
            yield {**_power_row(one, observed, span), **_found(dict(zip(DRIFTS, found, strict=True)))}


def standing_rows(series: Sequence[RuleSeries], observed: Observed) -> Iterator[dict[str, Any]]:
    """What of the rows of alarm_power follows each run, by `alarm_id`: whether an alarm may page now, and why not."""
    for one in series:
        yield {"alarm_id": one.named["alarm_id"], **_standing(one, observed)}


def _standing(one: RuleSeries, observed: Observed) -> dict[str, Any]:
    grid, until, page_budget = observed.grid, observed.until, observed.settings.alarms.page_budget
    until_s = grid.end_s(until - 1)
    fired = sum(starts_s > until_s - BUDGET_S for _, starts_s, _ in spans(one))
    why = unarmed(one, until, fired, page_budget)
    return {
        "fired": fired,
        "armed": why is None,
        "why": why,
        "false_alarms_per_week": 0.0 if why else 7 * _expected(one, grid) / 1000,
    }


def replayed_span(observed: Observed) -> tuple[int, int]:
    """Windows of the four weeks before the end of what is observed."""
    return max(observed.until - _REPLAYED_DAYS * observed.grid.a_day, 0), observed.until


def _patience(one: RuleSeries, observed: Observed) -> int:
    return observed.rules[one.rule].for_windows


def _found(drifts: Mapping[str, Drifts]) -> dict[str, Any]:
    delays = {f"drift_{name}_delay_s": found.median_s for name, found in drifts.items()}
    return delays | {f"drift_{name}_found_ratio": found.found_ratio for name, found in drifts.items()}


def _power_row(one: RuleSeries, observed: Observed, span: tuple[int, int]) -> dict[str, Any]:
    assert one.trend is not None  # noqa: S101
    grid, until, page_budget = observed.grid, observed.until, observed.settings.alarms.page_budget
    judged = np.isfinite(one.score[slice(*span)])
    sigma = _median(one.trend.scale[0, slice(*span)][judged])
    return {
        **one.named,
        "window_s": grid.step_s,
        "threshold": one.threshold,
        "replayed_days": float(judged.sum() / grid.a_day),
        "budget": page_budget if one.severity == "page" else None,
        "sigma": sigma,
        "strays": _newest(one, "strays", until),
        "tail_share": _newest(one, "share", until),
        "smallest_shift": _shift(one, sigma),
        **_standing(one, observed),
    }


def unarmed(one: RuleSeries, until: int, fired: int, page_budget: int) -> str | None:
    """Why a trend alarm does not page now, None if it may."""
    assert one.trend is not None  # noqa: S101
    a_day = one.grid.a_day
    newest = slice(max(until - a_day, 0), until)
    if one.severity == "page" and fired >= page_budget:  # as `suppressions` counts: the next one pages nobody
        return f"fired {fired} times in 28 days, and its budget is {page_budget}: raise its threshold, or accept"
    if np.isfinite(one.score[newest]).any():
        return None
    few = too_few_requests(one, until)
    if few is not None:
        return few
    return "less than seven days of windows to learn from" if one.trend.learning[0, newest].all() else "not needed now"


def false_alarms(threshold: float, metric: AlarmMetric, step_s: int) -> float:
    """False alarms to expect in 1,000 series-days at a threshold; quarter-hourly ones as their hourly equivalent."""
    if metric.chart != "level":
        return float(np.exp(np.interp(threshold, _COUNT_THRESHOLDS, np.log(_FALSE_COUNT_ALARMS))))
    hourly = threshold if step_s >= 3600 else threshold * _USUAL_PAGE / QUARTER_HOURLY[_USUAL_PAGE]
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
