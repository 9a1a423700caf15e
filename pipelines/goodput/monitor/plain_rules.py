"""Rules that need no model of a series: absolute bounds, and absence where traffic is usual."""

from collections.abc import Iterator, Mapping

import numpy as np

from goodput.monitor.calendar import Calendar, by_class
from goodput.monitor.detector import ARM_DAYS
from goodput.monitor.grid import NAN, Flags, Floats
from goodput.monitor.series import Panel
from goodput.monitor.states import Patience, episodes
from goodput.monitor.watched import Watched, selects
from goodput.settings.alarms import Rule

_CLEAR_OF_BOUND = 0.1  # an absolute alarm is over a tenth of its bound away from it
_USUALLY_THERE = 0.8  # share of like windows with traffic that makes silence an absence


def watched_bounds(panels: Mapping[str, Panel], rules: Mapping[str, Rule]) -> Iterator[Watched]:
    """All absolute rules: the value itself against a bound."""
    for name, rule in rules.items():
        panel = panels.get(rule.metric or "")
        if rule.kind == "absolute" and panel is not None:
            values = _believed(panel)
            for row, labels in enumerate(panel.labels):
                if selects(rule, labels):
                    yield _bounded(name, rule, panel, row, values[row])


def _believed(panel: Panel) -> Floats:
    if panel.requests is None:
        return panel.values
    return np.where(panel.requests >= panel.kind.least_requests, panel.values, NAN)


def _bounded(name: str, rule: Rule, panel: Panel, row: int, values: Floats) -> Watched:
    sign = 1.0 if rule.above is not None else -1.0
    bound = rule.above if rule.above is not None else rule.below
    assert bound is not None  # noqa: S101  (settings without a bound are refused)
    found = episodes(
        sign * values > sign * bound,
        sign * values <= sign * bound - _CLEAR_OF_BOUND * abs(bound),
        np.isfinite(values),
        Patience(rule.for_windows, rule.clear_windows),
    )
    requests = None if panel.requests is None else panel.requests[row]
    parts = (name, "absolute", rule.severity, rule.metric, panel.labels[row], bound, values, values, tuple(found))
    return Watched(*parts, requests=requests, bound=bound, panel=panel, row=row)


def watched_absences(
    panels: Mapping[str, Panel], rules: Mapping[str, Rule], calendar: Calendar, until: int
) -> Iterator[Watched]:
    """All absence rules: no traffic in windows like those that nearly always had some; judged before window `until`."""
    for name, rule in rules.items():
        panel = panels.get(rule.metric or "")
        if rule.kind == "absence" and panel is not None:
            there = np.isfinite(panel.values) if panel.requests is None else panel.requests > 0
            expected = _expected(there, panel, calendar)
            for row, labels in enumerate(panel.labels):
                if selects(rule, labels):
                    yield _silent(name, rule, panel, row, (there[row], expected[row], until))


def _silent(name: str, rule: Rule, panel: Panel, row: int, seen: tuple[Flags, Flags, int]) -> Watched:
    there, expected, until = seen
    known = (there | expected) & (np.arange(len(there)) < until)
    found = tuple(episodes(~there, there, known, Patience(rule.for_windows, rule.clear_windows)))
    score = np.where(known, 1.0 - there, NAN)
    values = there.astype(np.float64) if panel.requests is None else panel.requests[row]
    return Watched(name, "absence", rule.severity, rule.metric, panel.labels[row], 1.0, score, values, found)


def _expected(there: Flags, panel: Panel, calendar: Calendar) -> Flags:
    """Windows in which traffic is usual: by the windows alike of the four weeks before their day."""
    grid = panel.grid
    expected = np.zeros(there.shape, dtype=np.bool_)
    begun = np.where(there.any(axis=1), there.argmax(axis=1), grid.windows) // grid.a_day
    for day in range(ARM_DAYS, grid.days):
        past = slice(max(day - 28, 0) * grid.a_day, day * grid.a_day)
        today = slice(day * grid.a_day, (day + 1) * grid.a_day)
        alike = by_class(np.where(there[:, past], 1.0, 0.0), calendar.classes[past])
        told = np.isfinite(alike).sum(axis=2)
        share = np.nansum(alike, axis=2) / np.maximum(told, 1)
        old = (begun + ARM_DAYS <= day)[:, None]
        expected[:, today] = old & (share >= _USUALLY_THERE)[:, calendar.classes[today]]
    return expected
