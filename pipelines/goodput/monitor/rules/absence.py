"""Absence: silence of a series for longer than chance makes it by its own history, where traffic is usual.

How likely a window is empty by chance follows from windows like it in the four weeks before, and from how often one
empty window followed on another; a silence fires once all of it together is rarer than one in 1,000 days. Over 12,250
simulated days of series of which a sixth of the hours is empty, 0.5 in 1,000 days were false, 2.4 where empty hours
come in clusters; a series that is never empty fires after the two hours of `for_windows`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from goodput.monitor.alarm_context import AlarmContext
from goodput.monitor.calendar import CLASSES, Calendar
from goodput.monitor.detector import ARM_DAYS
from goodput.monitor.grid import NAN, Flags, Floats, Grid, Ints
from goodput.monitor.panel import Panel
from goodput.monitor.rule_kind import Facts, Observed, Row, RuleKind
from goodput.monitor.rule_series import RuleSeries, began_s, selected
from goodput.monitor.states import Debounce, Episode, episodes
from goodput.monitor.where_to_look import onset_s, windows_sql
from goodput.monitor.words import series_name, timestamp
from goodput.settings.rule import Rule

FALSE_A_DAY = 0.001  # silences of one series that fire though chance alone makes them
_USUALLY_THERE = 0.8  # share of like windows with traffic that makes silence an absence
_HISTORY_DAYS = 28
_LENDS = 0.5  # share of empty windows from which on an hour of the day is closed: it says nothing of those beside it
_PRIOR = 12.0  # windows that what holds for the whole series counts as, beside those of one class
_ALONE = 2.0  # empty windows that are counted as if they came each by itself, before any were seen
_FIRST = 2  # empty windows in a row after which another one is counted: a long outage is no habit


@dataclass(frozen=True)
class _Seen:
    """By series and window: traffic, whether it is usual, and the chance of an empty window, first or after another."""

    there: Flags
    usual: Flags
    first: Floats
    another: Floats


class Absence(RuleKind):
    """Fires while a series has no traffic where there usually is some."""

    name: ClassVar[str] = "absence"
    page_inhibits_ticket: ClassVar[bool] = False

    def series(self, observed: Observed) -> Iterator[RuleSeries]:
        """Each rule over each series of its metric that it selects."""
        history: dict[str, _Seen] = {}
        for name, rule, panel, row in selected(observed.rules_of(self.name), observed.panels):
            if panel.metric not in history:
                history[panel.metric] = _seen(_traffic(panel), panel.grid, observed.calendar)
            yield _silent(name, rule, panel, row, (history[panel.metric], observed.until))

    def headline(self, one: RuleSeries, facts: Facts) -> str:
        """Since when there is no traffic."""
        return f"{series_name(one)}: no traffic since {facts['onset_at']}, where there usually is some"

    def quantity(self, _one: RuleSeries) -> str:
        """Requests, whatever the metric is."""
        return "requests a window"

    def facts(self, one: RuleSeries, at: int, context: AlarmContext) -> Row:
        """When the silence began."""
        return {"onset_at": timestamp(began_s(one, at))}

    def evidence_sql(self, one: RuleSeries, facts: Facts, at_s: int) -> str:
        """The windows: of a silence there are no requests to list."""
        return windows_sql(one, onset_s(facts, at_s), at_s)


def _traffic(panel: Panel) -> Flags:
    return np.isfinite(panel.values) if panel.requests is None else panel.requests > 0


def _silent(name: str, rule: Rule, panel: Panel, row: int, judged_by: tuple[_Seen, int]) -> RuleSeries:
    seen, until = judged_by
    there = seen.there[row]
    at = np.flatnonzero((there | seen.usual[row]) & (np.arange(len(there)) < until))
    threshold = float(-np.log(FALSE_A_DAY / panel.grid.a_day))
    score = np.full(len(there), NAN)
    score[at], begun = _surprise(there[at], seen.first[row, at], seen.another[row, at])
    since = np.zeros(len(there), dtype=np.int64)
    since[at] = at[begun]
    long = np.zeros(len(there), dtype=np.bool_)
    long[at] = np.arange(len(at)) - begun + 1 >= rule.for_windows
    over = long & (score >= threshold)
    found = _since_the_first(episodes(over, there, np.isfinite(score), Debounce(1, rule.clear_windows)), since)
    if len(at) and not there[at[-1]] and not any(episode.resolved is None for episode in found):
        found.append(Episode(int(since[at[-1]]), None, None))
    values = there.astype(np.float64) if panel.requests is None else panel.requests[row]
    parts = (name, Absence.name, rule.severity, rule.metric, panel.labels[row], threshold, score, values, tuple(found))
    return RuleSeries(*parts, panel=panel, row=row, grid=panel.grid)


def _surprise(there: Flags, first: Floats, another: Floats) -> tuple[Floats, Ints]:
    """How unlikely the silence up to each window is (-ln of its chance; 0: there is traffic), and where it began."""
    position = np.arange(len(there))
    after = ~there & np.concatenate([[False], ~there[:-1]])
    begun = np.maximum.accumulate(np.where(after, 0, position))
    each = np.where(there, 0.0, -np.log(np.where(after, another, first)))
    total = np.cumsum(each)
    return np.where(there, 0.0, total - total[begun] + each[begun]), begun


def _since_the_first(found: Iterator[Episode], since: Ints) -> list[Episode]:
    """Episodes that are pending since the first empty window of their silence."""
    return [replace(episode, pending=int(since[episode.pending])) for episode in found]


def _seen(there: Flags, grid: Grid, calendar: Calendar) -> _Seen:
    """What is usual in each window, by the four weeks before its day; nothing in the first days of a series."""
    begun = np.where(there.any(axis=1), there.argmax(axis=1), grid.windows)
    known = (np.arange(grid.windows) >= begun[:, None]) & calendar.counts
    empty = ~there & known
    trial = known & _after_the_first(empty)
    counted = (known, empty, trial, trial & empty)
    before = [_of_the_weeks_before(flags, grid, calendar) for flags in counted]
    lends = before[1] <= _LENDS * before[0]
    windows, empties, trials, pairs = (_with_half_of_the_hours_beside(of, lends) for of in before)
    usual = empties <= (1 - _USUALLY_THERE) * windows
    mean = (np.where(usual, empties, 0).sum(axis=2) + 0.5) / (np.where(usual, windows, 0).sum(axis=2) + 1)
    first = (empties + _PRIOR * mean[..., None]) / (windows + _PRIOR)
    by_chance = np.where(usual, trials * first, 0).sum(axis=2)
    followed = np.where(usual, pairs, 0).sum(axis=2)
    lift = (followed + np.sqrt(followed) + _ALONE) / (by_chance + _ALONE)
    another = np.minimum(first * np.maximum(lift, 1)[..., None], 1.0)
    day = np.arange(grid.windows) // grid.a_day
    old = begun[:, None] // grid.a_day + ARM_DAYS <= day
    expected = old & (usual & (windows > 0))[day, :, calendar.classes].T
    return _Seen(there, expected, first[day, :, calendar.classes].T, another[day, :, calendar.classes].T)


def _after_the_first(empty: Flags) -> Flags:
    """Windows that come after an empty one, which is among the first of its silence."""
    position = np.arange(empty.shape[1])
    silent = position - np.maximum.accumulate(np.where(empty, -1, position), axis=1)  # windows of silence up to here
    after = np.zeros_like(empty)
    after[:, 1:] = (silent[:, :-1] >= 1) & (silent[:, :-1] <= _FIRST)
    return after


def _of_the_weeks_before(flags: Flags, grid: Grid, calendar: Calendar) -> Floats:
    """How many windows of each class are set in the four weeks before each day: days x series x classes."""
    classes = np.eye(CLASSES)[calendar.classes].reshape(grid.days, grid.a_day, CLASSES)
    daily = flags.reshape(len(flags), grid.days, grid.a_day).transpose(1, 0, 2).astype(np.float64) @ classes
    until = np.concatenate([np.zeros((1, *daily.shape[1:])), np.cumsum(daily, axis=0)])[: grid.days]
    since = np.maximum(np.arange(grid.days) - _HISTORY_DAYS, 0)
    return np.asarray(until - until[since])


def _with_half_of_the_hours_beside(of: Floats, lends: Flags) -> Floats:
    """Counts of each class with half of what the hours of the day beside it have, as far as those `lends` any."""
    hours, lent = (each.reshape(*of.shape[:2], CLASSES // 24, 24) for each in (of, np.where(lends, of, 0.0) / 2))
    return np.asarray((hours + np.roll(lent, 1, axis=3) + np.roll(lent, -1, axis=3)).reshape(of.shape))


KIND = Absence()
